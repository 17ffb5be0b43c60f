"""Installed files: native parts, MPI prefixes from PyPI, and libraries under other names."""
