"""Runs things.

A run (`loop`), its limits, stop rules, runs without a model (`offline`), servers and Ray; what a
benchmark asks is not decided here.
"""
