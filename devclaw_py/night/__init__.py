"""What happens without a person: the heartbeat, and later reviews and budgets."""
