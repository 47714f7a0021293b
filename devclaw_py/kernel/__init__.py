"""The only places that touch the machine: files, programs, locks, the clock."""
