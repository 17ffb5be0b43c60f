"""Launches as processes: started by the keeper, measured, watched, and ended without remains."""
