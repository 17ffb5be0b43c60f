"""`mpiric scale`: scaling studies."""
