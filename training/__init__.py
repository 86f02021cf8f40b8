"""Scripts that made what Snellen bundles; not part of the installed package."""
