"""Endpoints that take requests in batches: one file for each protocol, and the model that speaks it.

What a batch holds and when it is asked is decided by the engine (`engine.batches`); bodies of requests
and of replies are those of the dialects beside this folder.
"""
