"""Limits on requests. Pacing, retries, spending and budgets, and what aborts a run."""
