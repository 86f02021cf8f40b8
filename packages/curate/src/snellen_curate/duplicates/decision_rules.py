"""Rules of the decisions about items that repeat or contradict another of the same data."""

CONTRADICTION, DUPLICATE, POSSIBLE = "contradiction", "duplicate", "possible duplicate"
PAIR_RULES = (CONTRADICTION, DUPLICATE, POSSIBLE)
"""The evidence of their decisions names the other item as the reply."""
