"""Runs that may stop early: stop rules, the random order of samples, forecasts of the stop.

The confidence sequences themselves are in `stats`.
"""
