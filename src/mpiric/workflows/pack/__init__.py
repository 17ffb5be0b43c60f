"""A program in one file that another site's launcher starts."""
