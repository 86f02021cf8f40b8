"""The task map (MMT-Bench, Sec.

5). Tasks as vectors, their distances and clusters, and what the map says about scores; its plots
are in `report.plots`.
"""
