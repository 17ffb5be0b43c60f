"""Algorithms of collectives that can be chosen by name: the MPI libraries' and mpiric's own."""
