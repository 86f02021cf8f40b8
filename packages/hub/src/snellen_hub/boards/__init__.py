"""Boards: what a hub shows of published submissions, as plain data for pages, API and exports.

Where answers are hidden, all of it is of the public part of the questions, and after a reveal
also of the finals (`finals`).
"""
