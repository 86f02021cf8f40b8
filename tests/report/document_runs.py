"""A run folder of long texts and records: replies that are right, partly wrong, hostile, long and none."""

from __future__ import annotations

import json
from pathlib import Path

from synthetic import info, summarise, write_run

from snellen.core.output import Generated, ParsedAnswer, Unparsed, outcome_of
from snellen.core.page import Block, Page
from snellen.core.record import Pass, Record
from snellen.core.request import Text, user
from snellen.core.run import Counts, Report
from snellen.core.sample import Kind
from snellen.scoring.fields import record_f1
from snellen.store.runs import RunFolder

ATTACK = "</script><img src=x onerror='window.hurt=1'><svg onload=window.hurt=1>"
RECEIPT = {
    "company": "Corner Shop Ltd",
    "date": "2024-03-05",
    "items": [{"name": "Tea", "price": "9.00"}, {"name": "Rice", "price": "4.50"}],
    "total": "13.50",
}
SAID = {
    "company": "Corner Shop Ltd",
    "items": [{"name": "Rice", "price": "4.50"}, {"name": "Tea", "price": "8.00"}],
    "total": 13.5,
    "cashier": ATTACK,
}
PARK = "今天天气很好，我们一起去公园散步。"
LETTER = (
    "Dear Sir or Madam,\n\nthe three boxes that we ordered on 4 May came without the lids. "
    "Please send 12 lids by the end of the month.\n\nYours faithfully,\nA. Reader"
)
SAID_LETTER = LETTER.replace("three boxes", "tree boxes").replace("12 lids", "12 lids today") + " " + ATTACK
LONG = "\n".join(f"Line {number} of a long page says that {number * 7} sheets are in store." for number in range(1500))


PAGE = Page(
    (
        Block("Quarterly report", category="title", order=1),
        Block("Sales grew by 4.5 % in the first quarter, mostly of tea and rice.", order=2),
        Block(
            "<table><tr><td>Goods</td><td>Sold</td></tr><tr><td>Tea</td><td>120</td></tr>"
            "<tr><td>Rice</td><td>80</td></tr></table>",
            "table",
            order=3,
        ),
        Block(r"\frac{120}{200} = 0.6", "formula", order=4),
        Block("7", category="page_number", optional=True, order=5),
    )
)
SAID_PAGE = (
    "# Quarterly report\n\nSales grew by 45 % in the first quarter, mostly of tea and mice.\n\n"
    f"<table><tr><td onclick='window.hurt=1'>Goods</td><td colspan=2>Sold {ATTACK}</td></tr>"
    "<tr><td>Tea</td><td>120</td></tr></table>\n\n"
    f"Thanks to all our customers {ATTACK}"
)


def made_record(name: str, kind: Kind, gold: str, answer: str | None, score: float) -> Record:
    """One answered sample, or with an answer of None one whose reply holds none."""
    parsed = Unparsed() if answer is None else ParsedAnswer(answer, "whole reply", (0, len(answer)))
    reply = "I cannot read this." if answer is None else answer
    turn = Pass((user(Text("What does the page say?")),), Generated(reply), parsed, (gold,), correct=score >= 1)
    return Record(
        id=name,
        kind=kind,
        question="What does the page say?",
        outcome=outcome_of(parsed),
        score=score,
        answer=answer,
        gold=(gold,),
        groups={"category": "receipt" if kind == "fields" else "letter"},
        passes=(turn,),
    )


def document_records() -> list[Record]:
    """A record and a text of every kind of verdict."""
    gold, said = json.dumps(RECEIPT), json.dumps(SAID)
    return [
        made_record("record", "fields", gold, said, record_f1(said, [gold])),
        made_record("right", "fields", gold, gold, 1.0),
        made_record("unread", "fields", gold, None, 0.0),
        made_record("letter", "open", LETTER, SAID_LETTER, 0.8),
        made_record(
            "chinese", "open", "今天天气很好，我们一起去公园散步。" * 6, "今天天气很好，我们一起去花园散步。" * 6, 0.9
        ),
        made_record("long", "open", LONG, LONG.replace("sheets are", "sheet is", 40), 0.9),
        made_record("page", "page", PAGE.text(), SAID_PAGE, 0.6),
        made_record("empty page", "page", PAGE.text(), None, 0.0),
        made_record("table", "open", PAGE.blocks[2].text, "<table><tr><td>Goods</td></tr></table>", 0.3),
        made_record("short", "open", "blue", "red", 0.0),
    ]


def write_document_run(root: Path, model: str = "snellen/tiny", records: list[Record] | None = None) -> RunFolder:
    """The folder of such a run, or of one with other records."""
    records = document_records() if records is None else records
    run = info(model, "papers", False, "complete", Counts(len(records), len(records)))
    return write_run(root, Report(run, summarise(records, False)), records, {})
