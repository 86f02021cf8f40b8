"""TableVQA-Bench, and how answers about tables are compared."""
