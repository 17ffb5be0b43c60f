"""`mpiric sweep`: a library's collectives measured over the whole machine."""
