"""Without asking a model.

Scoring recorded replies, estimates, dry runs, the gold check, replay, and parity of two backends.
"""
