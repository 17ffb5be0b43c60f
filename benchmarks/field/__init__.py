"""Real programs of others: what an expert gains by hand, and what `mpiric tune` gains, claims and rejects."""
