"""Boards: what a hub shows of published submissions, as plain data for pages, API and exports.

Every number comes from `public_scores`: ranks, averages and tiers are computed from what is shown,
so that a board of a hidden split tells no more than its scores do.
"""
