"""`mpiric history`: list tunes, and compare a program with an earlier run."""
