"""Parsing rules as others published them, errors included.

Used by `--rule official` and `--rule vlmevalkit`; Snellen's own rules are one folder up.
"""
