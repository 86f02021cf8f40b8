"""How well replies are parsed: precision and recall on labelled replies, and rescoring by another
rule.

The parsing rules themselves live in `extract`.
"""
