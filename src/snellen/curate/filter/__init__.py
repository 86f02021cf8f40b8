"""Quality control of items by what models answer: without the picture, and with it.

`filtering` is the step, `model_runs` the runs it makes, `verdicts` what runs say about each item,
`rules` what flags an item, `judging` the rules over all items, `chance` how many a rule would flag
if models guessed, `evidence` the replies that decisions record, `summary` the numbers, `tables` the
output. People's decisions about flagged items are in `curate.review`.
"""
