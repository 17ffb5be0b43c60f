"""Statistics of runs, without I/O: proofs by pairs, effects of settings, comparison of days and of blocks."""
