"""Model → terminal and HTML."""
