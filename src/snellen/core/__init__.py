"""The nouns that all rooms share.

Samples, messages, requests, outputs, answers, records, and the few mechanisms (secrets, limits,
atomic writes, entry points) that every room needs; nothing here knows a file format, a model or a
benchmark.
"""
