"""Plots that stand alone.

SVG or PNG files for papers and slides; inline charts of pages are in `report.page`.
"""
