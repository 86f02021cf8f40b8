"""MEGA-Bench: its benchmark, rows, judge's prompts and summary. Metrics are in
`scoring.mega_bench`."""
