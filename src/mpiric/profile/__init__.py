"""Records of runs: reading them, and what they mean."""
