"""Publish a data set as a benchmark."""
