"""Machines to map onto: nodes of a network, what is inside them, and which of them a job has."""
