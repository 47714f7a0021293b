"""A task's work: worktrees, branches, rescue, merge."""
