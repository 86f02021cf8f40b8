"""Model servers that Snellen starts.

Commands, health, logs and their end; servers that run already are in `models.remote`.
"""
