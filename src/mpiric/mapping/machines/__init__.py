"""Machines to map onto: the network, its nodes, their inside, and the nodes of a job."""
