"""Simulations of the statistics that Snellen reports: `python -m simulations`, `make simulate`."""
