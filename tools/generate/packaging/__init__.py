"""Recipes of packaging systems, rendered from pyproject.toml."""
