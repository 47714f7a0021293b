"""Where worker sessions run."""
