"""How a benchmark is declared and found.

Published files, rows, kinds of questions, the registry, suites, descriptions in TOML; how a
question is asked is in `benchmarks.protocol`.
"""
