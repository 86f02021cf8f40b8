"""Sample to messages.

Prompt templates, few-shot turns, rotation of options, controls, recipes of model authors; nothing
here asks a model.
"""
