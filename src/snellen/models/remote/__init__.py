"""Models behind servers and APIs.

One HTTP client, one file per dialect of the wire format, and checks of replies and errors. Pacing,
retries and budgets are not here but in `engine.limits`.
"""
