"""Checkpoints that only their own code loads (`trust_remote_code=yes`), asked as adapters say."""
