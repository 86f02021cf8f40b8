"""Checkpoints of transformers, run in this process.

Finding and loading, prompts, tokenisation ahead of the model, prefix sharing, batch sizes,
generation, log-likelihoods and LoRA; checkpoints behind a server are in `models.remote`.
"""
