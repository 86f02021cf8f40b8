"""How a benchmark is declared, found by name and built.

A `Declaration`, its data, rows and kinds of scoring, the registry, suites and benchmarks in TOML
live here; how any question is asked, parsed and judged lives in `benchmarks.protocol`, and a
benchmark's own rules live with its family.
"""
