"""Trial directories: copies of the working directory, and what a trial changed in them."""
