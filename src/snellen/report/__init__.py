"""Records as words, tables and images. Nothing here runs a model or computes a statistic.

`documents` and `findings` say what commands show, `writers` write it in each format; pages, plots
and notebooks have a folder each. Formats of single numbers are in `format`.
"""
