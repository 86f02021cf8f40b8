"""Replies by digest, and run folders.

Also schema migrations, the repair of damaged stores, and exports for other tools. Nothing here asks
a model or computes a score.
"""
