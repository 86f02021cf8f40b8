"""People decide about items: a queue, a page on which several annotators work at once, agreement
and conflicts, and the next version of the data set.

entries.py     the append-only log of what people decide
edits.py       changes of an item, and which of them are refused
queue.py       which items are reviewed, and why
annotators.py  agreement, the measures of each annotator, and how probable each decision is
gold.py        items whose right decision is known
board.py       queue, log and outcomes together, for any number of threads
exchange.py    files of Label Studio, Argilla and spreadsheets
importing.py   decisions that were made in another tool
finishing.py   the next version of the data set
server.py      the page
"""
