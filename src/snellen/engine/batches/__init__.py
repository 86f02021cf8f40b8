"""Requests that are asked in batches: gathered into waves, submitted, polled, and stored when they come back.

Imported by a run that has a model with the option `batch=yes`, and by no other.
"""
