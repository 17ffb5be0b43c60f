"""`mpiric tune`: the fastest configuration, proved and saved."""
