"""`mpiric run` and `script`: a command with its recipe."""
