"""Parsing of the user's command; its nodes, host names and settings."""
