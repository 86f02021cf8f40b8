"""HTML for the outputs of notebook cells: fragments without scripts, with inline styles that keep
the colours of the notebook's theme."""
