"""A hub as one file: made while it runs, and restored into any database and storage.

A backup is a ZIP archive: `hub.json` (what it is), `hub.toml` without the URLs of database and
storage, `tables/NAME.jsonl` (columns in the first line, then a row per line), `files/KEY` as they
are stored, sealed ones encrypted, and at last `manifest.json` with the size and SHA-256 of each.
"""
