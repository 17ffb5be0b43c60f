"""`mpiric fabric`: the transports of a command, measured."""
