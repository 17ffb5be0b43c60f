"""`mpiric place` and `mpiric ps`: where ranks and threads go, and where they are."""
