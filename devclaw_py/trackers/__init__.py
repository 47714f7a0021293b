"""The issue trackers devclaw can talk to."""
