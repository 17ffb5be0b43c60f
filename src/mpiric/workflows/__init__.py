"""A package per verb: the recipe that joins the rooms, and what only this verb needs."""
