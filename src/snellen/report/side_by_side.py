"""Gold and answer of a sample next to each other: long texts with the words that differ marked, records
field by field. A tree of elements, of which pages make elements and notebooks text.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from snellen.core.answer_text import field_text
from snellen.core.literals import load_json
from snellen.core.record import Record
from snellen.report.elements import Element, figure_element, side_element

DRAWN_KINDS = frozenset({"open", "fields", "page"})
"""Kinds of questions that may be drawn."""
_LONG = 80
"""Characters from which on a gold answer is compared word by word."""
_TABLE = "<table"
"""In a gold answer that is drawn block by block."""
_MOST_GOLDS = 8
"""Accepted answers of which the nearest is looked for."""


def draw_side_by_side(record: Record) -> Element | None:
    """Gold and answer of a sample as a figure; None where a line says as much: short texts, replies that
    a judge grades, questions without gold."""
    if any(turn.verdicts for turn in record.passes):
        return None
    return draw_answers(record.gold, record.answer, record.kind, record.values)


def draw_answers(
    gold: Sequence[str], answer: str | None, kind: str, scores: Mapping[str, float] | None = None
) -> Element | None:
    """As `draw_side_by_side`, of the gold answers and of an answer to a question of a kind. `scores`: of
    the parts of a page, by name."""
    if not gold:
        return None
    if kind == "page" or (kind == "open" and answer is not None and _TABLE in gold[0]):
        from snellen.report.block_drawing import draw_blocks

        return draw_blocks(gold[0], answer or "", scores or {}, is_scored=kind == "page")
    if kind == "fields":
        return _field_figure(gold, answer)
    if kind == "open" and answer is not None and max(map(len, gold)) >= _LONG:
        return _text_figure(gold[:_MOST_GOLDS], answer)
    return None


def _text_figure(golds: Sequence[str], answer: str) -> Element:
    from snellen.report.word_marks import mark_differences

    marked = min(
        (mark_differences(gold, answer) for gold in golds), key=lambda texts: texts.only_first + texts.only_second
    )
    said = (
        f"{marked.only_first:,} of {marked.words:,} words of the gold are not in the answer; "
        f"{marked.only_second:,} words of the answer are not in the gold"
    )
    texts = {"gold": marked.first, "answer": marked.second}
    sides = [side_element(side, [["pre", {}, *text]], is_tall=True) for side, text in texts.items()]
    return figure_element(said, ["div", {"class": "sides"}, *sides])


def _field_figure(golds: Sequence[str], answer: str | None) -> Element | None:
    from snellen.scoring.fields import count_fields, nearest_results

    try:
        load_json(answer or "null")
        results = nearest_results(answer, golds)
    except ValueError:
        return None
    counts = count_fields(results)
    said = f"{counts.right} of {counts.right + counts.wrong + counts.missing} fields right"
    others = (f"{number} {name}" for name, number in counts._asdict().items() if number and name != "right")
    head = [
        "tr",
        {},
        *(["th", {"scope": "col", "class": name}, name] for name in ("field", "gold", "answer", "verdict")),
    ]
    rows = [
        [
            "tr",
            {"class": f"field {each.outcome}"},
            ["th", {"scope": "row"}, each.path or "(value)"],
            ["td", {"class": "of-gold"}, _value_text(each.gold)],
            ["td", {"class": "of-answer"}, _value_text(each.reply)],
            ["td", {"class": f"verdict {each.outcome}"}, each.outcome],
        ]
        for each in results
    ]
    table: Element = ["table", {"class": "record"}, ["thead", {}, head], ["tbody", {}, *rows]]
    return figure_element(", ".join([said, *others]), ["div", {"class": "tall", "tabindex": "0"}, table])


def _value_text(value: Any) -> str:
    return "–" if value is None else field_text(value)
