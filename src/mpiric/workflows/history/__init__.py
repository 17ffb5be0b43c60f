"""`mpiric history`: tunes over time, and comparison with one of them."""
