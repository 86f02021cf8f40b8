"""Records as words, tables and images. Nothing here runs a model or computes a statistic.

Number formats and exports are in this folder; pages, terminal tables, plots and findings have a
folder each.
"""
