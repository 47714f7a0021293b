"""Decisions as pure functions of their arguments."""
