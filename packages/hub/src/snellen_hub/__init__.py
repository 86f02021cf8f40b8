"""A server that holds benchmarks, keeps their answers hidden, scores submissions and shows boards.

`snellen hub` is its command. "Hub" means Hugging Face elsewhere in Snellen, hence the longer name.
"""
