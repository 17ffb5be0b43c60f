"""From the user's command to what is executed: the job parsed, its nodes, names and settings."""
