"""Benchmarks of texts alone: what a model that sees still knows and does without images."""
