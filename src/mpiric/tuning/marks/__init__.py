"""Marks: calls that mean the same work in every run, chosen and judged from what the original showed."""
