"""The HTTP API of a hub."""
