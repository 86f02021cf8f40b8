"""Findings from finished runs: comparisons, causes, parsing quality, samples and protocol cards.

No model is asked here. Formulas without records live in `stats`; tables and pages of the findings
live in `report`.
"""
