"""Transports and networks: the reported transport, the recommended one, and the fastest one.

Pure functions of text and numbers. The probe itself is run by a workflow.
"""
