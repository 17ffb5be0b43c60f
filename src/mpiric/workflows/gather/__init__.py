"""`mpiric gather`: move files that a run has spread over subdirectories back to their places."""
