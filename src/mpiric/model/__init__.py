"""Types and pure functions that several packages share; no I/O."""
