"""How a question of any benchmark is asked, parsed and judged.

Flows, parsers, few-shot examples, controls, judges, gates and repeats live here; which benchmark
uses which is said in its declaration, and metrics live in `scoring`.
"""
