"""Making and cleaning benchmarks: every step reads items and writes a data set folder in which each
decision is recorded."""
