"""`devclaw demo`: a small repository, three issues, and real tmux workers without a model."""
