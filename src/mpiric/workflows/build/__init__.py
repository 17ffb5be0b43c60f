"""`mpiric build`, `cc`, `inspect` and `verify`: executables made and examined."""
