"""Step markers: calls that mean the same work in every run, chosen and judged by runs of the original."""
