"""Replicas of models on a Ray cluster.

Placement, workers, and what happens when a node or the driver is lost.
"""
