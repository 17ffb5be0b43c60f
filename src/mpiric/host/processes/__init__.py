"""Launches as processes: start, measurement, observation and complete termination."""
