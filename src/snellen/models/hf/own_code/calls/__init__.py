"""Ways to ask code that one call of a method does not ask: it prepares a request, then generates.

Each module has a function `ask(own, adapter, conversation, settings)`, which returns the reply's
text; adapters name the module by `call`. None depends on a version of transformers, so that they
run in an environment with an older one too.
"""
