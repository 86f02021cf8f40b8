"""How near a page that a model wrote comes to the page that was asked for: text, reading order,
tables, formulas.

How a reply is taken apart stands in `extract.pages`.
"""
