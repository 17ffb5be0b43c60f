"""Measurements of mpiric's claims: each module is one benchmark, ``python -m benchmarks.<name>``."""
