"""Answers to scores.

One formula per file, with paper and section; which of them a benchmark reports is declared in
`benchmarks`.
"""
