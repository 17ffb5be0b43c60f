"""What an executable needs of MPI, and which libraries can serve it."""
