"""People decide about items: a queue, a page on which several annotators work at once, agreement
and conflicts, and the next version of the data set.

entries.py     the append-only log of what people decide
edits.py       changes of an item, and which of them are refused
queue.py       which items are reviewed, and why; gold items among them
annotators.py  agreement, the measures of each annotator, and how probable each decision is
board.py       queue, log and outcomes together, for any number of threads
opening.py     a review, new or of an earlier start; the next version of the data set
exchange.py    decisions to and from Label Studio, Argilla and spreadsheets
server.py      the page
"""
