"""How a question of any benchmark is asked and judged.

Flows, parsers, few-shot examples, controls, judges, gates; which benchmark uses which is declared
with that benchmark.
"""
