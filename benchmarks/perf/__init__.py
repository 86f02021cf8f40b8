"""What Snellen costs, beside the least that could be done: `python -m benchmarks.perf`."""
