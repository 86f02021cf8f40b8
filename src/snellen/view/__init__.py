"""Run folders in a browser. A server for this machine alone, and the same as static files."""
