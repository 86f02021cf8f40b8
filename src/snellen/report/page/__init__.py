"""HTML pages (report.html, the overview, the page of wrong answers): templates, style, scripts and
what fills them.

Each page is a single file and loads nothing from a network. The server that shows run folders is
`view`.
"""
