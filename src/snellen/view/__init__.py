"""Run folders in a browser: a server for this machine alone, and the same pages as static files.
Numbers are from `analysis` and `report`; here they only become JSON for the scripts in `page`."""
