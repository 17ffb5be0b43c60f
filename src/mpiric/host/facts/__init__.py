"""Facts of a machine: asked of the running system, recorded, and replayed."""
