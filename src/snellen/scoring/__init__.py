"""From answers and records to scores: one formula per file, with paper and section.

Which of them a benchmark reports is declared in `benchmarks`; intervals and tests live in `stats`.
"""
