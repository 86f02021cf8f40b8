"""Findings from records; never runs a model."""
