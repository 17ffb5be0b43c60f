"""`mpiric place` and `mpiric ps`: planned and actual placement of ranks and threads."""
