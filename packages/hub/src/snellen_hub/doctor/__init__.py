"""Checks of a hub: each result says what is wrong and how to fix it."""
