"""A Messages API on loopback that answers by script: Claude Code as a worker without a model, for tests and demo."""
