"""Launch: the user's command, parsed and rendered as what is executed; its nodes, names and settings."""
