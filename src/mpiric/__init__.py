"""MPI, empirically: find, prove and save the fastest way to run an MPI program."""

__version__ = "0.1.0"
