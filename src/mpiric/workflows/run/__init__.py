"""`mpiric run` and `script`: run a command with its recipe."""
