"""Findings that papers report about models.

Abilities, preferred choices, yes/no problems, leakage and tables of scores. Comparisons of runs
live in `analysis.comparison`, causes of differences in `analysis.causes`.
"""
