"""Store: logs of tunes on disk, and their locks."""
