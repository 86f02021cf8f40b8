"""Compare runs: alignment sample by sample, differences with tests, ranks, comparability.

The formulas live in `stats`, causes of differences in `analysis.causes`.
"""
