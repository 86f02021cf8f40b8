"""Run folders in a browser: a server for this machine alone, and the same as static files."""
