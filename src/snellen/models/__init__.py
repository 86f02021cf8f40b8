"""Messages to output.

The small backends and what backends share; transformers are in `hf`, servers and APIs in `remote`,
names and the catalog in `naming`.
"""
