"""Parsing rules restated from published code (benchmark authors, VLMEvalKit), faults included.

Their numbers can be compared with published ones; Snellen's own rules are one folder up.
"""
