"""Limits of the requests of a run: pacing, retries, budgets, and what aborts it.

How a request is sent is in `models.remote`; which requests are sent, in `engine.loop`.
"""
