"""Data set folders: the items of any data, and every decision that was made about them.

`snellen-curate` makes them; `snellen-hub` writes what readers flagged as one, and reads answers
that were kept back. Here are the items, the folder that a step writes, and sealed answers; what a
step decides is not here.
"""
