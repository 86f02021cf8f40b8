"""Samples over many runs: item statistics, small subsets, doubtful labels, labelled errors.

Comparisons of the runs themselves live in `analysis.comparison`.
"""
