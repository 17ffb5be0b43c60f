"""The lab: makes runs of one job, each rendered, isolated, executed, judged and logged."""
