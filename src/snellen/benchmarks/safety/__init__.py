"""Benchmarks of safety: whether a model declines what it should, and how often it declines."""
