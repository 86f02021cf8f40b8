"""Models behind servers and APIs.

One HTTP client, one file per dialect of the wire format, errors and limits of what is read; pacing
and retries are in `engine.limits`.
"""
