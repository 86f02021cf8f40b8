"""Texts and tables as Markdown, beside what a Markdown parser reads in them."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from markdown_it.token import Token

from snellen.report.document import Column, Table
from snellen.report.writers.markdown import literal, table_lines

PARSER = MarkdownIt("commonmark").enable(["table", "strikethrough"])
SIGNS = "\\`*_{}[]<>|~&#;!()-+.:\"'$ \n\tab1ä–"

TEXTS = {
    "pipes": "A|B || C",
    "a pipe behind a backslash": "C:\\|D \\\\| E\\",
    "newlines": "one\ntwo\r\n\n  three",
    "backticks": "`code` and ``two` ``` left",
    "emphasis": "*one* __two__ skill_area ~~gone~~ ~5~",
    "links and tags": "[a](http://b) ![c](d) <b>e</b> <http://f>",
    "entities": "&lt; &#60; &amp;lt; Q&A; R & D",
    "numbers": "-3.4 (−5.0–1.2) 50 %",
    "nothing": "",
}


def shown(inline: Token) -> str:
    """What a reader sees of a line. Fails where it holds anything but text."""
    parts = inline.children or []
    assert {part.type for part in parts} <= {"text", "text_special"}, inline.content
    return "".join(part.content for part in parts)


def read(lines: list[str]) -> list[list[str]]:
    """The rows of the one table there is."""
    tokens = PARSER.parse("\n".join(lines))
    assert [token.type for token in tokens].count("table_open") == 1
    assert (tokens[0].type, tokens[-1].type) == ("table_open", "table_close")
    rows: list[list[str]] = []
    for token in tokens:
        if token.type == "tr_open":
            rows.append([])
        elif token.type == "inline":
            rows[-1].append(shown(token))
    return rows


def table(headings: list[str], rows: list[list[str]]) -> list[str]:
    return list(table_lines(Table("", list(map(Column, headings)), rows)))


def folded(text: str) -> str:
    return " ".join(text.split())


@pytest.mark.parametrize("name", TEXTS)
def test_markdown_shows_text_literally(name: str) -> None:
    text = TEXTS[name]
    (paragraph,) = (t for t in PARSER.parse(f"x {literal(text)} x") if t.type == "inline")
    assert shown(paragraph) == f"x {folded(text)} x"
    assert read(table(["a", text or "c"], [[text, "b"]])) == [["a", folded(text or "c")], [folded(text), "b"]]


@given(st.lists(st.lists(st.text(SIGNS, max_size=20), min_size=3, max_size=3), max_size=3))
@settings(deadline=None)
def test_no_text_breaks_a_table(rows: list[list[str]]) -> None:
    found = read(table(["x", "y", "z"], rows))
    assert found == [["x", "y", "z"], *([folded(cell) for cell in row] for row in rows)]


def test_numbers_are_right_aligned() -> None:
    columns = [Column("model", "name"), Column("score", "points"), Column("n", "count")]
    assert list(table_lines(Table("", columns, [["a", -1.5, 3]]))) == [
        "| model | score | n |",
        "| --- | ---: | ---: |",
        "| a | -1.5 | 3 |",
    ]
    assert table(["model"], []) == ["| model |", "| --- |"]
