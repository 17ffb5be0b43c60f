"""MPI libraries that an executable needs, and installed libraries that can serve it."""
