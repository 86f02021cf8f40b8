"""Findings from finished runs.

Never asks a model; tables and pages of the findings are in `report`.
"""
