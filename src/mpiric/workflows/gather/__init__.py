"""`mpiric gather`: files that a run has spread over subdirectories or left on a node, put to their places."""
