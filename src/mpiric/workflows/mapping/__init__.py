"""`mpiric map`: an order of ranks for a graph, a described pattern or a record."""
