"""Statistics of plain numbers and arrays: intervals, tests, ranks, confidence sequences.

Records, benchmarks and runs do not occur here: `scoring` and `analysis` apply these functions to
them. Every formula names its source in the module's docstring.
"""
