"""Facts about a machine: read from the running system, recorded, and replayed."""
