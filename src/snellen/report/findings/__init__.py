"""Analyses as tables, notices and a plot, one file for each kind of finding.

The analyses themselves are in `analysis`; the commands that print findings are in `cli`.
"""
