"""Comparison of the output and files of a run with runs of the original."""
