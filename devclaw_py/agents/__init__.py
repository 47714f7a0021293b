"""What runs in a worker's terminal, and how a task is put to it."""
