"""Why two runs differ.

The difference split by cause, the samples that show it, and the gain of a single setting. Plain
comparisons of runs live in `analysis.comparison`.
"""
