"""One run, from the plan to the last record.

Driving flows, the request broker, batching, resuming; retries and budgets are in `engine.limits`.
"""
