"""`mpiric profile`, `report` and `doctor`: record a run and explain it."""
