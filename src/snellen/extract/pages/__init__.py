"""Pages of documents as models write them, taken apart: blocks, and tables in any markup as HTML.

How two pages are compared stands in `scoring.pages`.
"""
