"""Thirty-six small visual tasks, drawn from seeds, as a benchmark in MMT-Bench's layout.

Read in this order: `task` (what a task is), `recognition`, `counting`, `locating`, `reading` and
`patterns` (the tasks), `write` (the file). `make taskmap` maps them.
"""
