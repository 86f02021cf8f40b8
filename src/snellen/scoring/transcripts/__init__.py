"""Transcripts of pictures against gold: words, tables as HTML, and fields as JSON."""
