"""One file per verb: the recipe that joins the rooms."""
