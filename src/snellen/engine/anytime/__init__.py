"""Runs that may stop early.

The stop rules, the random order of samples and forecasts; the confidence sequences themselves are
in `stats`.
"""
