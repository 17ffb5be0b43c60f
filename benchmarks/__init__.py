"""What mpiric claims, measured: each module is one benchmark, ``python -m benchmarks.<name>``."""
