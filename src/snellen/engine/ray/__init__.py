"""Replicas of models on a Ray cluster.

Their placement, the workers, and what happens if a node or the driver is lost. How requests are
batched and stored is decided in `engine.loop`.
"""
