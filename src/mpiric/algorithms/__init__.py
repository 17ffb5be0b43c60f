"""Algorithms of collectives that can be chosen by name: algorithms of MPI libraries and of mpiric."""
