"""Results as text tables. For the terminal, Markdown, CSV and JSON."""
