"""A recipe: the steps of curation in one file, run as a pipeline that goes on after any stop."""
