"""Plans: what to run, as generators of runs that receive trials. No I/O, no runner."""
