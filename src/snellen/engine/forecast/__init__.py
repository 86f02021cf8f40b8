"""What the rest of a run will take, from what some of its samples took.

Which samples are measured first is in `probe_samples`, what they took in `sample_costs`, and how
tokens, cost and time follow for the others in `projection`.
"""
