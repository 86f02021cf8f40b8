"""Findings of the papers. Abilities, choices, yes/no problems, leakage and tables of scores."""
