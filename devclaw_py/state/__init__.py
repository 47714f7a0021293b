"""What survives a crash: the registry, the audit log and the journal."""
