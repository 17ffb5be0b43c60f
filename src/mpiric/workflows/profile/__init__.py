"""`mpiric profile`, `report` and `doctor`: one run, recorded and explained."""
