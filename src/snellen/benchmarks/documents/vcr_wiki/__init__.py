"""VCR-wiki, how a restored text is scored, and the words of spaCy for it."""
