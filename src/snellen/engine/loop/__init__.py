"""One run, from its plan to its last record: driving flows, asking for outputs, resuming.

Retries, pacing and budgets are in `engine.limits`, stop rules in `engine.anytime`.
"""
