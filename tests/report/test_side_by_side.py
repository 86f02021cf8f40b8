"""Gold and answer as trees: words that differ, records by field, pages by block, hostile markup."""

from __future__ import annotations

import json
import random
import time
from difflib import SequenceMatcher
from html.parser import HTMLParser

import pytest
from document_runs import (
    ATTACK,
    LETTER,
    LONG,
    PAGE,
    RECEIPT,
    SAID,
    SAID_LETTER,
    SAID_PAGE,
    document_records,
    made_record,
)

from snellen.core.output import Generated
from snellen.core.record import Verdict
from snellen.report.block_drawing import table_rows
from snellen.report.elements import Element, element_text
from snellen.report.page.samples import describe
from snellen.report.side_by_side import draw_answers, draw_side_by_side
from snellen.report.word_marks import mark_differences

TAGS = {"figure", "div", "h4", "p", "pre", "mark", "span", "b", "table", "thead", "tbody", "tr", "th", "td"}
ATTRIBUTES = {"class", "role", "aria-label", "scope", "colspan", "rowspan", "tabindex"}


def every_element(tree: Element):
    yield tree
    for child in tree[2:]:
        if not isinstance(child, str):
            yield from every_element(child)


def text_of(pieces) -> str:
    return "".join(piece if isinstance(piece, str) else piece[2] for piece in pieces)


def marks_of(pieces) -> list[str]:
    return [piece[2] for piece in pieces if not isinstance(piece, str)]


def test_words_that_differ_are_marked_on_both_sides() -> None:
    marked = mark_differences("The red cat sat, 1,200.50 m away.", "The  big red cat sat, 1,300.50 m away!")
    assert marks_of(marked.first) == ["1,200.50", "."]
    assert marks_of(marked.second) == ["big", "1,300.50", "!"]
    assert (marked.only_first, marked.only_second, marked.words) == (2, 3, 9)


def test_letters_of_scripts_without_spaces_are_words() -> None:
    marked = mark_differences("今天天气很好", "今天空气很好")
    assert marks_of(marked.first) == ["天"]
    assert marks_of(marked.second) == ["空"]


@pytest.mark.parametrize("seed", range(60))
def test_marks_leave_a_common_subsequence_no_shorter_than_that_of_difflib(seed) -> None:
    draw = random.Random(seed)
    words = [draw.choice(["a", "b", "cd", "e", "1,5", ".", "字", "-"]) for _ in range(draw.randint(0, 40))]
    other = [word for word in words if draw.random() < 0.8]
    other = [draw.choice(["a", "b", "x", "字", ","]) if draw.random() < 0.2 else word for word in other]
    first, second = draw.choice((" ", "\n ")).join(words), " ".join(other)
    marked = mark_differences(first, second)
    assert text_of(marked.first) == first
    assert text_of(marked.second) == second
    left = [piece for piece in marked.first if isinstance(piece, str)]
    right = [piece for piece in marked.second if isinstance(piece, str)]
    assert ("".join(left).split() and "".join(right).split()) or not marked.words - marked.only_first
    same = sum(block.size for block in SequenceMatcher(None, words, other, autojunk=False).get_matching_blocks())
    assert marked.words - marked.only_first >= same


@pytest.mark.parametrize(
    ("first", "second", "differ"),
    [
        (LONG, LONG.replace("sheets are", "sheet is", 40), (80, 80)),
        # What is left out at the beginning does not move the rest out of step.
        (LONG, LONG[LONG.index("Line 300 ") :], (4200, 0)),
        (" ".join(f"a{number}" for number in range(20_000)), " ".join(f"b{number}" for number in range(20_000)), None),
        ("x " * 50_000, "x " * 40_000, (10_000, 0)),
    ],
)
def test_texts_of_100_kb_are_compared_in_a_second(first, second, differ) -> None:
    assert len(first) > 90_000
    start = time.process_time()
    marked = mark_differences(first, second)
    assert time.process_time() - start < 2.0
    assert text_of(marked.first) == first
    if differ is not None:
        assert (marked.only_first, marked.only_second) == differ


def test_a_record_is_a_table_of_fields_with_verdicts() -> None:
    tree = draw_answers([json.dumps(RECEIPT)], json.dumps(SAID), "fields")
    rows = [one for one in every_element(tree) if one[1].get("class", "").startswith("field ")]
    shown = [tuple(cell[2] for cell in row[2:]) for row in rows]
    assert ("company", "Corner Shop Ltd", "Corner Shop Ltd", "right") in shown
    assert ("date", "2024-03-05", "–", "missing") in shown
    assert ("items[].price", "9.00", "8.00", "wrong") in shown
    assert ("cashier", "–", ATTACK, "invented") in shown
    assert tree[1]["aria-label"] == "gold and answer: 5 of 7 fields right, 1 wrong, 1 missing, 1 invented"


def test_a_page_is_shown_block_by_block() -> None:
    tree = draw_answers([PAGE.text()], SAID_PAGE, "page", {"teds": 0.5})
    heads = [one for one in every_element(tree) if one[1].get("class", "").startswith("block-head")]
    assert [(head[2][2], head[3][2]) for head in heads] == [
        ("title", "100 %"),
        ("text", "98 %"),
        ("table", "50 %"),
        ("formula", "missing"),
        ("page number", "optional, not counted"),
        ("text", "invented"),
    ]
    assert tree[1]["aria-label"].endswith("5 blocks in the gold, 5 in the answer, 1 missing, 1 invented")
    marked = [one[2] for one in every_element(tree) if one[0] == "mark"]
    assert {"4.5", "rice", "45", "mice", "Rice", "80"} <= set(marked)


def test_short_texts_judged_replies_and_lost_gold_are_not_drawn() -> None:
    letter = made_record("letter", "open", LETTER, SAID_LETTER, 0.8)
    assert draw_side_by_side(letter) is not None
    assert draw_side_by_side(made_record("short", "open", "blue", "red", 0.0)) is None
    [turn] = letter.passes
    verdict = Verdict("judge", Generated("4"), values={"grade": 4.0})
    from msgspec.structs import replace

    assert draw_side_by_side(replace(letter, passes=(replace(turn, verdicts=(verdict,)),))) is None
    assert draw_side_by_side(replace(letter, gold=())) is None
    assert draw_answers(["{not json"], "{}", "fields") is None
    assert draw_answers(["{}"], "not json", "fields") is None


def test_tables_keep_spans_and_texts_alone() -> None:
    [first, second] = table_rows(
        "<table class=x><thead><tr><th colspan='2' onclick=hurt()>A<br>B</th></tr></thead>"
        "<tr><td rowspan=99999999><b>1</b> &lt;2&gt;<td>3<table><tr><td>in</td></tr></table></tr></table><p>after"
    )
    assert first[0] == ("A\nB", 2, 1, True)
    assert second[0].text == "1 <2>"
    assert second[0].rows == 1
    assert "in" in second[1].text
    assert "after" not in second[1].text
    assert table_rows("<table") == []


HOSTILE = [
    ATTACK,
    "<table onload=x><tr><td style='position:fixed' colspan='1\" onclick=\"x'>a</td></tr></table>",
    "<table><tr><td><script>window.hurt=1</script></td></tr>",
    "<table>" * 3000,
    "<table><tr>" + "<td>x" * 20_000,
    "<svg><a xlink:href='javascript:window.hurt=1'>x</a></svg>",
    "<!-- --><![CDATA[ <table> ]]><?php x ?>",
    "\\begin{tabular}{c}<img src=x onerror=window.hurt=1>\\end{tabular}",
    "\x1b[2J\x00\x07",
    "$$" * 999,
]


@pytest.mark.attack(
    "replies and gold hold markup, scripts, endless tables and control signs, and are drawn side by side",
    "no element or attribute of a page but Snellen's own; texts stay texts",
)
@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
@pytest.mark.parametrize("kind", ["open", "fields", "page"])
def test_markup_of_a_reply_becomes_text(text, kind) -> None:
    gold = {"open": "<table><tr><td>a</td></tr></table>", "fields": json.dumps(RECEIPT), "page": PAGE.text()}[kind]
    answer = json.dumps({text: text, "items": [text]}) if kind == "fields" else text
    tree = draw_answers([gold], answer, kind)
    assert tree is not None
    for name, attributes, *children in every_element(tree):
        assert name in TAGS
        assert attributes.keys() <= ATTRIBUTES
        assert all(child is not None for child in children)
        assert attributes.get("colspan", "2").isdecimal()
    seen: list[str] = []

    class Reader(HTMLParser):
        def handle_starttag(self, tag, attrs) -> None:
            seen.append(tag)
            assert {name for name, _ in attrs} <= ATTRIBUTES | {"style"}

    Reader().feed(element_text(tree, styles={"td": "background:none"}))
    assert set(seen) <= TAGS
    assert "\x1b" not in element_text(tree)


def test_descriptions_of_all_kinds_hold_the_figure_and_words() -> None:
    described = {record.id: describe(record) for record in document_records()}
    assert {name for name, each in described.items() if "beside" in each} == described.keys() - {"short"}
    assert described["record"]["gold"] == [
        "company: Corner Shop Ltd; date: 2024-03-05; items[].name: Tea; items[].price: 9.00; items[].name: Rice; "
        "items[].price: 4.50; total: 13.50"
    ]
    assert described["page"]["gold"][0].startswith("# Quarterly report\n\nSales grew")
