"""Benchmarks of other tools, loaded and scored by their own code in a process of their own.

`worker` is what runs there; everything else is Snellen's side of the exchange. Nothing of this is
imported before a name with a tool's prefix is used.
"""
