"""The process in which another tool's code loads and scores its benchmarks.

It runs in the tool's environment, where Snellen is not installed: the files here import the standard
library, each other, and the tool.
"""
