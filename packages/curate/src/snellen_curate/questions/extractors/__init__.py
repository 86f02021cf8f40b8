"""Extractors: what is to be seen in an image, as text (SEED-Bench-H, Sec. 3.4.1.1)."""
