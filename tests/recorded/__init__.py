"""Recorded tunes: today's behaviour of the verbs that measure, compared byte for byte with stored text.

``python -m tests.recorded --write`` stores it anew; see docs/contributing/add-a-recorded-tune.md.
"""
