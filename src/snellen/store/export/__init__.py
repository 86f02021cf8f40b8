"""A run as the files that other tools and evaluation servers read.

One file per tool; files that other tools wrote are read in `data.foreign`.
"""
