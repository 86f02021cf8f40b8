"""Quality control of items by what models answer: without the picture, and with it.

`filtering` is the step, `rules` what flags an item, `chance` how many a rule would flag if models
guessed, `verdicts` what runs say about each item, `asking` the runs it makes, `tables` the output.
People's decisions about flagged items are in `curate.review`.
"""
