"""What tools do: lists of steps, driven by one runner, settled by one recovery."""
