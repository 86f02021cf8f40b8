"""Runs benchmarks on models.

A run (`loop`), request limits, stop rules (`anytime`), scoring and estimates without a run
(`offline`), servers and Ray. What a benchmark asks, and how it counts, is not decided here.
"""
