"""Recorded tunes: the output of the verbs that measure, compared byte for byte with stored text.

``python -m tests.recorded --write`` replaces the stored text; see docs/contributing/add-a-recorded-tune.md.
"""
