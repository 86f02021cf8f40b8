"""Models: messages in, outputs out.

Here are the small backends (clip, diffusers, random, replay) and what backends share. Checkpoints
of transformers are in `models.hf`, servers and APIs in `models.remote`, names, options and the
catalog in `models.naming`; batches, retries and limits of a run are the engine's.
"""
