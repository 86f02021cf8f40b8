"""Benchmarks whose answers are places."""
