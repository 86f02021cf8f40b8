"""MEGA-Bench: its benchmark, rows, judge's prompts, summary, and how replies are graded."""
