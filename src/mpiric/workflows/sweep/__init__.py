"""`mpiric sweep`: measure the collectives of a library over the whole machine."""
