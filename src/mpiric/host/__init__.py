"""Access to the machine: the only package that runs commands or reads the system."""
