"""`mpiric build`, `cc`, `inspect` and `verify`: building and examining executables."""
