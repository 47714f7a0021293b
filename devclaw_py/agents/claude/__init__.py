"""Claude Code in a worker's terminal. docs/concepts/claude.md says how it is driven and where that can fail."""
