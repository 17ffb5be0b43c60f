"""What is installed: native parts, MPI prefixes from PyPI, libraries under another name."""
