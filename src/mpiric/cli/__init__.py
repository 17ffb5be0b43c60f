"""Commands, a file each: read the options, call the workflow, print the result."""
