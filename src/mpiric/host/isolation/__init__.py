"""Isolation of trials: copies or overlays of the working directory, and the files that a trial changed."""
