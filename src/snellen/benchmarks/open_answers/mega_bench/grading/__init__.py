"""How the 505 tasks of MEGA-Bench read and score replies (Chen et al. 2024,
https://arxiv.org/abs/2410.10563).

A task names a parser of replies, a metric for each field of the answer, and how the scores of the
fields become one: `replies` has the parsers, `metrics` the table of metrics, `task` puts them
together, and the other files hold one family of metrics each. What is not here: prompts, rows, and
summaries, which are beside this folder.
"""
