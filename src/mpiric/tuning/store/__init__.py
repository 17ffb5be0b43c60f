"""The store: what a tune has measured, on disk."""
