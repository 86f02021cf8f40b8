"""Transformers checkpoints in this process.

Loading, prompts, batches, prefix sharing, generation, log-likelihoods and LoRA; served checkpoints
are in `models.remote`.
"""
