"""Traffic of collective calls between pairs of ranks, by algorithm, and the algorithm that a library uses."""
