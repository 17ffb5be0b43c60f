"""Rank order: traffic and machine tree → order of ranks, by the engine in src/mapper."""
