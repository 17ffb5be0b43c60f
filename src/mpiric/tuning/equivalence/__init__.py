"""Output equivalence: comparison of output and files with runs of the original."""
