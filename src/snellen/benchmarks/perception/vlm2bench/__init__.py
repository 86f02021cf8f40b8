"""VLM2-Bench, and how its statements, counts and groups are read."""
