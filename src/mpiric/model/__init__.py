"""Values handed between rooms: frozen dataclasses, no I/O."""
