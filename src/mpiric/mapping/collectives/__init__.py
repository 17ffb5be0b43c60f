"""Collective calls as traffic between pairs: what each algorithm sends, and which one a library takes."""
