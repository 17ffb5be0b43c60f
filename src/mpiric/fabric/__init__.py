"""Transports and networks: what libraries say they use, what a network ought to be driven by, what is faster.

Pure: text and numbers in, model out. Running the probe is the workflow's business.
"""
