"""Runs programs that a model wrote, in processes of their own with limits.

Nothing here runs unless a benchmark's option says so. `limits` are the limits, `protection` is what
a process gives up before it runs a program, `worker` is the process that forks one child for each
program, `runner` starts workers and hands programs to them, `charts` is what is recorded of a
matplotlib program, and `model` answers requests about programs. What a program is worth is not
decided here (see `benchmarks.documents.chartmimic.charts`).
"""
