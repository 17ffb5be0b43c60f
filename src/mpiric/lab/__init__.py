"""Lab: makes the runs of one job; each is rendered, isolated, executed, judged and logged."""
