"""From a model's name to a model.

The registry, built-in providers, plug-ins, user files, and the catalog with prices. The backends
themselves are elsewhere in `models`.
"""
