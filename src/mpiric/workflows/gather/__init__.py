"""`mpiric gather`: files that a run has spread over subdirectories, put back to their places."""
