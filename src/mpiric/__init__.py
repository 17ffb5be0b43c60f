"""MPI, empirically: find, prove and save the fastest way to run an MPI program."""

__version__ = "0.2.0"
