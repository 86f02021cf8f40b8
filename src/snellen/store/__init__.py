"""Replies by digest, and run folders.

Also migrations, repair of damaged stores, and exports for other tools; nothing here asks a model.
"""
