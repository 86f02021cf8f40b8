"""One reader per file format, and `open_table`, which picks the reader.

What lies in image and video cells is read in `data.media`.
"""
