"""Results as text tables, for the terminal, Markdown, CSV and JSON; one file for each command or
kind of table.

Tables of single numbers and their formats are in `report.format`.
"""
