"""Read result files of other tools, one module per tool; `data.detect` says which tool wrote a file.

Files that Snellen writes for other tools are in `store.export`.
"""
