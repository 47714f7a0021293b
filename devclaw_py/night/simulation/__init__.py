"""A night played in seconds: pretended trackers, workers and people around the real pipeline, on a virtual clock."""
