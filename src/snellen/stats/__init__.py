"""Statistics on plain numbers.

Intervals, tests, ranks, confidence sequences; records and benchmarks are unknown here, `analysis`
applies these functions to runs.
"""
