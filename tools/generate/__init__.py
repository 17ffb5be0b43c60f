"""What is generated, and by what: each module writes its files, or compares them with ``--check``."""
