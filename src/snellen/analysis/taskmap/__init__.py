"""The task map (MMT-Bench, Sec. 5): tasks as vectors, their distances, clusters, and what the
scores of many models say about them."""
