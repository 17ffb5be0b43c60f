"""Slurm on the hosts of a cluster: munge and slurmd on every one, slurmctld on the first."""
