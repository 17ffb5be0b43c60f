"""A small cluster on one Linux machine: hosts made of namespaces, shaped networks, Slurm on top.

``python -m tests.lab up --hosts 4`` starts one; see docs/guides/virtual-cluster.md.
"""
