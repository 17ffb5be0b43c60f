"""Commands of mpiric as jobs of a scheduler."""
