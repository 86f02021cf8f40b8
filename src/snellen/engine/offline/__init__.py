"""What is done with a benchmark's flows outside a run.

Scoring recorded replies, dry runs, estimates, the gold check, replay, and the parity of two
backends, which alone asks models; runs themselves are in `engine.loop`.
"""
