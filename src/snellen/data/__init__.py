"""Rows in: where data and predictions files are, how they are downloaded and read.

What a row means to a benchmark is decided in `benchmarks`; messages to a model are built in
`prompts`.
"""
