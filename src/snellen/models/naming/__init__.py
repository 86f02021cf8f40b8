"""From a model's name to a model.

The registry, providers, plug-ins, user files, and the catalog with prices; the backends themselves
are elsewhere in `models`.
"""
