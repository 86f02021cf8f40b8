"""Data sets in another language: a sibling with the same ids, keys and media, checked by rules."""
