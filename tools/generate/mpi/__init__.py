"""Generates the MPI wrappers of the runtime from spec/mpi: load, classify, emit."""
