"""Fake schedulers: one module for each scheduler, and the queue that they share."""
