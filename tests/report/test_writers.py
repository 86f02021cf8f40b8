"""One document in every format."""

from __future__ import annotations

import csv
import io
import json
import random
import re
from html.parser import HTMLParser

import pytest
from markdown_it import MarkdownIt

from snellen.core.summary import Interval
from snellen.report.console import Terminal
from snellen.report.document import (
    Cell,
    Column,
    Document,
    EmptyLine,
    IntervalEstimate,
    Line,
    Table,
    Verbatim,
    best_cells,
    cell_text,
    titled_document,
)
from snellen.report.writers import SUFFIXES, write_text
from snellen.report.writers.html import write_fragment
from snellen.report.writers.terminal import print_document

SPAN = Interval(61.04, 64.26, "wilson")
BELOW = Interval(-1.5, 7.0, "t")
SHARE = Interval(0.1, 0.25, "wilson")
TABLE = Table(
    "Scores | of two",
    (
        Column("model", "name"),
        Column("score", "points", best="highest"),
        Column("difference", "signed"),
        Column("refused", "share"),
        Column("n", "count"),
        Column("p", "p", best="lowest"),
        Column("ratio", "number", digits=2),
        Column("remark"),
    ),
    (
        ("=cmd|a", IntervalEstimate(62.5, SPAN), 3.25, 0.125, 12345, 0.00001, 0.5, "<b>&"),
        ("hf/[x]", IntervalEstimate(62.54), BELOW, SHARE, 7, 0.25, -0.001, None),
        ("low", 10.0, -3.0, None, 7, None, 1, "a\x1b[2J"),
        ("chance", 25.0, "", "", "", "", "", ""),
    ),
    ("n: samples",),
    baselines=1,
)
DOCUMENT = Document(
    (
        Line("eyechart", "heading", "accuracy"),
        Line("a_b failed", "notice"),
        EmptyLine(),
        TABLE,
        Line("what it means", "note"),
        Verbatim(("  kept   spaces", "|")),
        Line("plain *text*"),
    )
)


@pytest.mark.parametrize(
    ("cell", "column", "text"),
    [
        (None, Column("x", "points"), "–"),
        ("", Column("x", "points"), ""),
        ("12*", Column("x", "points"), "12*"),
        (62.54, Column("x", "points"), "62.5"),
        (-0.04, Column("x", "points"), "0.0"),
        (1234.567, Column("x", "number", digits=2), "1234.57"),
        (12345, Column("x", "count"), "12,345"),
        (3.25, Column("x", "signed"), "+3.2"),
        (-3.25, Column("x", "signed"), "–3.2"),
        (0.125, Column("x", "share"), "12.5 %"),
        (0.994, Column("x", "share", digits=0), "99 %"),
        (0.00001, Column("x", "p"), "<0.0001"),
        (SPAN, Column("x", "points"), "61.0–64.3"),
        (SPAN, Column("x", "points", digits=2), "61.04–64.26"),
        (BELOW, Column("x", "signed"), "–1.5 to +7.0"),
        (BELOW, Column("x", "points"), "-1.5 to 7.0"),
        (SHARE, Column("x", "share"), "10.0–25.0"),
        (IntervalEstimate(62.5, SPAN), Column("x", "points"), "62.5 (61.0–64.3)"),
        (IntervalEstimate(None), Column("x", "points"), "–"),
    ],
)
def test_cells_are_formatted_by_the_kind_of_their_column(cell: Cell, column: Column, text: str) -> None:
    assert cell_text(cell, column) == text


def test_the_best_numbers_tie_as_they_are_printed_and_baselines_do_not_count() -> None:
    assert best_cells(TABLE) == {(0, 1), (1, 1), (0, 5)}
    assert best_cells(TABLE._replace(rows=TABLE.rows[:1], baselines=0)) == set()


def test_the_best_numbers_may_be_those_of_each_row() -> None:
    columns = [Column("group"), *(Column(name, "points", best="highest") for name in "ab")]
    rows = [("x", 1.0, 2.0), ("y", 3.0, None), ("chance", 4.0, 4.0)]
    table = Table("", columns, rows, baselines=1, best_in_rows=True)
    assert best_cells(table) == {(0, 2)}
    assert best_cells(table._replace(best_in_rows=False)) == {(1, 1)}


def test_a_terminal_may_show_less_of_a_table_than_a_page() -> None:
    untitled = Document([TABLE._replace(on_terminal="untitled")])
    assert "of two" not in write_text(untitled, "table")
    assert "62.5" in write_text(untitled, "table")
    assert "of two" in write_text(untitled, "latex")
    left_out = Document([TABLE._replace(on_terminal="left out")])
    assert write_text(left_out, "table") == ""
    assert "62.5" in write_text(left_out, "html")


def test_markdown_shows_every_cell_as_it_is() -> None:
    text = write_text(DOCUMENT, "markdown")
    page = MarkdownIt("commonmark").enable(["table", "strikethrough"]).render(text)
    rows = parse_cells(page)
    assert rows[0] == [column.name for column in TABLE.columns]
    assert rows[1][:2] == ["=cmd|a", "62.5 (61.0–64.3)"]
    assert rows[1][-1] == "<b>&"
    assert len(rows) == len(TABLE.rows) + 1
    assert "- a\\_b failed" in text
    assert "  kept   spaces" in text
    assert re.search(r"\| --- \| ---: \|", text)


def test_html_shows_every_cell_and_runs_none() -> None:
    for text in (write_text(DOCUMENT, "html"), write_fragment(DOCUMENT)):
        rows = parse_cells(text)
        assert rows[1][0] == "=cmd|a"
        assert rows[1][-1] == "<b>&"
        assert "<b>&amp;" not in text.replace("&lt;b&gt;&amp;", "")
        assert "eyechart" in text
        assert "kept   spaces" in text
    assert "Content-Security-Policy" in write_text(DOCUMENT, "html")


def test_csv_has_full_precision_and_no_formula() -> None:
    rows = list(csv.DictReader(io.StringIO(write_text(DOCUMENT, "csv"))))
    assert rows[0]["model"] == "'=cmd|a"
    assert [rows[0][name] for name in ("score", "score low", "score high")] == ["62.5", "61.04", "64.26"]
    assert [rows[1][name] for name in ("difference", "difference low", "difference high")] == ["", "-1.5", "7.0"]
    assert rows[0]["p"] == "1e-05"
    assert rows[3]["score"] == "25.0"


def test_csv_of_several_tables_names_the_table_of_each_row() -> None:
    other = Table("other", (Column("model"), Column("x", "count")), (("a", 1),))
    rows = list(csv.DictReader(io.StringIO(write_text(Document((TABLE, other)), "csv"))))
    assert [row["table"] for row in rows] == ["Scores | of two"] * 4 + ["other"]
    assert rows[-1]["model"] == "a"
    assert rows[-1]["x"] == "1"
    assert rows[-1]["score"] == ""


def test_records_and_data_replace_tables_in_csv_and_json() -> None:
    records = Table("", (Column("id"),), (("7",),))
    document = DOCUMENT._replace(records=records, data={"x": 0.1234567})
    assert write_text(document, "csv") == "id\n7\n"
    assert json.loads(write_text(document, "json")) == {"x": 0.1234567}


def test_csv_of_a_document_without_a_table_has_its_lines() -> None:
    document = Document((Line("it takes submissions"), EmptyLine(), Line("=careful", "notice")))
    assert write_text(document, "csv") == "text\nit takes submissions\n'=careful\n"


def test_latex_keeps_hyphens_of_names_apart() -> None:
    table = Table("", (Column("run"),), (("random--eyechart---1",),))
    assert "random-{}-eyechart-{}-{}-1" in write_text(Document((table,)), "latex")
    assert "1--2" in write_text(Document((Table("", (Column("x"),), (("1–2",),)),)), "latex")


def test_json_has_rows_as_objects_with_unrounded_numbers() -> None:
    read = json.loads(write_text(titled_document("T", [TABLE], ["careful"]), "json"))
    assert (read["title"], read["notices"]) == ("T", ["careful"])
    [table] = read["tables"]
    assert table["rows"][0]["score"] == {"value": 62.5, "interval": [61.04, 64.26]}
    assert table["rows"][1]["difference"] == [-1.5, 7.0]
    assert table["rows"][2]["remark"] == "a\x1b[2J"
    assert table["rows"][2]["p"] is None


def test_latex_sets_the_best_in_bold_and_escapes_every_sign() -> None:
    text = write_text(DOCUMENT, "latex")
    assert r"\caption{eyechart, accuracy, Scores $|$ of two}" in text
    assert r"\begin{tabular}{lrrrrrrl}" in text
    assert r"\textbf{62.5 (61.0--64.3)}" in text
    assert r"\textbf{62.5}" in text
    assert r"=cmd$|$a & " in text
    assert r"12.5 \%" in text
    assert "% a_b failed" in text
    assert text.index(r"\midrule" + "\n    chance") > text.index("low")
    body = text[text.index(r"\toprule") : text.index(r"\bottomrule")]
    assert all(line.count(" & ") == len(TABLE.columns) - 1 for line in body.splitlines() if "&" in line)


def test_a_duplicate_column_is_refused_where_it_would_lose_a_value() -> None:
    twice = Table("", (Column("x"), Column("x")), (("1", "2"),))
    for form in ("json", "csv"):
        with pytest.raises(ValueError, match="two columns of one name"):
            write_text(Document((twice,)), form)


@pytest.mark.parametrize("width", [30, 40, 60, 80, 120, 200])
@pytest.mark.parametrize("seed", range(5))
def test_no_number_is_cut_or_lost_at_any_width(width: int, seed: int) -> None:
    draw = random.Random(seed)
    columns = [Column("model", "name"), *(Column(f"c{i}", "points") for i in range(8))]
    rows = [("hf/" + "long-name-" * draw.randint(1, 6), *(draw.uniform(0, 1e6) for _ in range(8))) for _ in range(3)]
    shown = printed(Document((Table("", columns, rows),)), width)
    for row in rows:
        for value in row[1:]:
            assert f"{value:.1f}" in shown
    for line in shown.splitlines():
        assert len(line) <= max(width, 42)


def test_optional_columns_are_left_out_and_named() -> None:
    columns = (Column("a" * 20), Column("kept", "points"), Column("second", "points", is_optional=True))
    document = Document((Table("", columns, (("x", 1.0, 2.0),)),))
    narrow, wide = printed(document, 30), printed(document, 60)
    assert "not shown, for want of width: second" in narrow
    assert "1.0" in narrow
    assert "2.0" not in narrow
    assert "2.0" in wide
    assert "not shown" not in wide


def test_each_row_of_a_table_of_lines_is_one_line_at_any_width() -> None:
    rows = [("tiny", "a model", "x" * 90), ("n" * 50, "another", "end")]
    columns = [Column("name"), Column("kind"), Column("about")]
    console = Terminal(record=True, file=io.StringIO(), width=40)
    print_document(Document([Table("", columns, rows, on_terminal="lines")]), console)
    assert console.export_text().splitlines() == [f"tiny  a model  {'x' * 90}", f"{'n' * 50}  another  end"]


def test_control_characters_reach_no_terminal() -> None:
    shown = printed(DOCUMENT, 200)
    assert "\x1b" not in shown
    assert "a\\x1b[2J" in shown
    assert "! a_b failed" in shown


def test_an_ending_says_the_format() -> None:
    assert SUFFIXES[".tex"] == "latex"
    assert set(SUFFIXES.values()) == {"table", "json", "csv", "markdown", "latex", "html"}
    assert "62.5" in write_text(DOCUMENT, "table")


def printed(document: Document, width: int) -> str:
    console = Terminal(file=io.StringIO(), width=width)
    print_document(document, console)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def parse_cells(page: str) -> list[list[str]]:
    """The rows of the tables of a page."""
    rows: list[list[str]] = []

    class Reader(HTMLParser):
        is_in_cell = False

        def handle_starttag(self, tag: str, attrs: object) -> None:
            if tag == "tr":
                rows.append([])
            elif tag in ("td", "th"):
                rows[-1].append("")
                self.is_in_cell = True

        def handle_endtag(self, tag: str) -> None:
            if tag in ("td", "th"):
                self.is_in_cell = False

        def handle_data(self, data: str) -> None:
            if self.is_in_cell:
                rows[-1][-1] += data

    Reader().feed(page)
    return rows
