"""Numbers that makers and papers publish of a model on a benchmark, each with its source, and how a
run compares with them. The other files here hold them, one source each.
"""
