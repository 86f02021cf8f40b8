"""Rows in.

Where data and predictions files are, how they are downloaded and read; what a row means to a
benchmark is decided in `benchmarks`, and messages to a model are built in `prompts`.
"""
