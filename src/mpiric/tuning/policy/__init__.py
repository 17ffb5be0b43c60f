"""Algorithm policies: read, checked, merged, and condensed to the lines that the runtime applies."""
