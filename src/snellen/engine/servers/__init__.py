"""Model servers that Snellen starts itself: their commands, health checks, logs and shutdown.

Servers that run already, and the protocols of all of them, are in `models.remote`.
"""
