"""Search: space of configurations, model of the effects of settings, and expected improvement."""
