"""The only room that runs commands or reads the machine."""
