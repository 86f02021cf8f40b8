"""Figures that stand alone (SVG and PNG), for papers, slides and print; drawn with matplotlib.

The charts inside HTML pages are not here: they follow the page's style and are in
`report/page/charts.py`.
"""
