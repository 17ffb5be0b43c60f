"""Collective policies on their way to the ranks."""
