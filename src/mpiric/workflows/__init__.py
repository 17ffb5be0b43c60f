"""A package per command: steps from the request to the result, and code that only this command needs."""
