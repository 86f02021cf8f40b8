"""One-file servers of models whose code needs other versions of libraries than Snellen's.

Each runs in an environment that uv makes from its header, where Snellen is not installed
(docs/local-models.md). They are data of the package, which a wheel holds as `snellen/zoo`.
"""
