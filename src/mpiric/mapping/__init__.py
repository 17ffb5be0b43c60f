"""Rank order: traffic and the machine's tree become an order of ranks, by the engine in src/mapper."""
