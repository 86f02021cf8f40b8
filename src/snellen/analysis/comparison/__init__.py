"""Runs against each other.

Alignment sample by sample, tests, ranks, comparability; the formulas are in `stats`.
"""
