"""Output equivalence: what of a program's output and files must stay, learned from runs of the original."""
