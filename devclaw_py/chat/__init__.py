"""What a group sees."""
