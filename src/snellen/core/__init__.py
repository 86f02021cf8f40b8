"""The types that all other packages share.

Samples, messages, requests, outputs, answers, records, and the few mechanisms (secrets, limits,
atomic writes, plug-ins) that every package needs. Nothing here knows a file format, a model or a
benchmark.
"""
