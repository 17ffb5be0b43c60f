"""The search: from what the observation suggests to the configurations worth proving."""
