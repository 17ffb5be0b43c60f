"""Generates the translation between ABI families from spec/mpi and spec/abi."""
