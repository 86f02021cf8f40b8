"""Metadata records of other data sets: a file per layout, by name in `importer.py`."""
