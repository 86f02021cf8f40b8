"""Samples seen over many runs.

Item statistics, subsets, doubtful labels, and error analysis by labelling.
"""
