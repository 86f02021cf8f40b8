"""Records to words and images; never runs anything.

Formats of numbers and exports; pages, terminal tables, plots and findings have a folder each.
"""
