"""Collective policies for the ranks."""
