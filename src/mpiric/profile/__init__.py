"""Records of runs: readers and analysis."""
