"""From a sample to messages: prompt templates, controls, recipes of model authors, rubrics of
judges, and images derived from a sample's own.

Nothing here asks a model or parses a reply.
"""
