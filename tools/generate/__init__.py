"""Generators: each module writes its files, or compares them with ``--check``."""
