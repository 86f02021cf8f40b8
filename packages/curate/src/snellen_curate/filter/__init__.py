"""Quality control of items by what models answer: without the image, and with it.

`filtering` is the step and the runs it makes, `verdicts` what runs and rules say about each item,
`rules` what flags an item, and how many items if models guessed, `summary` the output. People's
decisions about flagged items are in `curate.review`.
"""
