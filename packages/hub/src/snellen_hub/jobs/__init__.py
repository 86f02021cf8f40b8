"""Scoring by workers: each job is done exactly once."""
