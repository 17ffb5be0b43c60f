"""Exploration: production jobs run alternately with and without a recipe, and prove its gain."""
