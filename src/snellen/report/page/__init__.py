"""report.html and the other pages. Each is one file that asks nothing of any network."""
