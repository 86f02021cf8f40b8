"""One reader per file format, and `open_table`, which picks the reader.

What is in image and video cells is parsed in `data.media`.
"""
