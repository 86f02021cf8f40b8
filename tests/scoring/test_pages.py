"""Pages against gold pages, part by part, and by unit tests."""

import json

import pytest

from snellen.core.page import Block, Page, load_page
from snellen.extract.pages.blocks import page_blocks
from snellen.scoring.pages.matching import Group, match_blocks
from snellen.scoring.pages.page_score import (
    FORMULA,
    ORDER,
    TEDS,
    TEDS_STRUCTURE,
    TEXT,
    PageScores,
    mean_of_parts,
    score_page,
)
from snellen.scoring.pages.table_grid import grids_of_html, grids_of_pipes
from snellen.scoring.pages.teds import plain_table, table_similarity
from snellen.scoring.pages.texts import counted_formula, counted_text
from snellen.scoring.pages.unit_tests import passes_test

GOLD = Page(
    (
        Block("Lights", category="title", order=1),
        Block("The first sentence is here. The second one follows it at once.", order=2),
        Block("<table><tr><td>a</td><td>b</td></tr><tr><td>1</td><td>2</td></tr></table>", "table", order=3),
        Block("E = mc^{2}", "formula", order=4),
        Block("Then it ends.", order=5),
        Block("17", category="page_number", optional=True),
    )
)
FULL = {TEXT: 1.0, ORDER: 1.0, FORMULA: 1.0, TEDS: 1.0, TEDS_STRUCTURE: 1.0}
MARKDOWN = GOLD.markdown()


def parts(written: str) -> dict[str, float]:
    return score_page(page_blocks(written), GOLD).parts()


@pytest.mark.parametrize(
    ("written", "changed"),
    [
        (MARKDOWN, {}),
        (MARKDOWN.replace("\n\n17", ""), {}),
        (MARKDOWN.replace("here. The", "here.\n\nThe"), {}),
        (MARKDOWN.replace("# Lights\n\n", "Lights "), {}),
        (MARKDOWN.replace("E = mc^{2}", r"\mathrm{E}=mc^2 \tag{3}"), {FORMULA: pytest.approx(0.75)}),
        (MARKDOWN.replace("<td>2</td>", "<td>3</td>"), {TEDS: pytest.approx(1 - 1 / 6)}),
        (MARKDOWN.replace("<tr><td>1</td><td>2</td></tr>", ""), {TEDS: 0.5, TEDS_STRUCTURE: 0.5}),
        (MARKDOWN.replace("Lights", "Lichts"), {TEXT: pytest.approx(1 - 1 / 65)}),
        ("", dict.fromkeys(FULL, 0.0)),
    ],
)
def test_parts_of_a_page(written: str, changed: dict[str, float]) -> None:
    found = parts(written)
    assert found == {**FULL, **changed}


def test_order_and_invented_text() -> None:
    turned = "Then it ends.\n\n" + MARKDOWN.replace("\n\nThen it ends.", "")
    assert parts(turned) == {**FULL, ORDER: pytest.approx(0.6)}
    invented = parts(MARKDOWN + "\n\nNobody has written this sentence before.")
    assert 0.6 < invented[TEXT] < 0.7
    assert invented | {TEXT: 1.0} == FULL


def test_parts_that_a_page_lacks_have_no_number() -> None:
    gold = Page((Block("x^2", "formula"),))
    assert score_page(page_blocks("$$x^2$$"), gold) == PageScores(formula=(0, 3))
    assert mean_of_parts({}, (TEXT,)) == 1.0


def test_pages_are_stored_as_json() -> None:
    assert load_page(GOLD.text()) == GOLD


@pytest.mark.parametrize(
    ("golds", "replies", "groups"),
    [
        (["abcdefgh", "ijklmnop"], ["abcdefgh", "ijklmnop"], [((0,), (0,)), ((1,), (1,))]),
        (["abcdefghijklmnop"], ["abcdefgh", "ijklmnop"], [((0,), (0, 1))]),
        (["abcdefgh", "ijklmnop"], ["abcdefghijklmnop"], [((0, 1), (0,))]),
        (["abcdefgh"], ["12345678"], [((0,), ()), ((), (0,))]),
        (["same", "same"], ["same", "same"], [((0,), (0,)), ((1,), (1,))]),
        ([""], ["", "x"], [((), (1,))]),
    ],
)
def test_blocks_that_say_the_same(golds: list[str], replies: list[str], groups: list[Group]) -> None:
    assert match_blocks(golds, replies) == groups


def test_what_counts_of_texts_and_formulas() -> None:
    assert counted_text("**Ｔhe** [link](http://x.y) <b>is</b> $\\alpha_1$, 5 %") == "Thelinkisα15"
    assert counted_formula(r"\begin{aligned} x &= \left( a \right) \\ \end{aligned}.") == "x=(a)"
    assert counted_formula(r"a \leq b_{i}") == counted_formula(r"a\le b_i")


def test_tables_by_what_they_say() -> None:
    written = "<table border=1><thead><tr><th>a </th></tr></thead><tbody><tr><td><b>1</b>\n</td></tr></tbody></table>"
    assert plain_table(written) == "<table><tr><td>a</td></tr><tr><td>1</td></tr></table>"
    spanned = '<table><tr><td colspan="2">a</td></tr></table>'
    assert table_similarity(spanned, "<table><tr><td>a</td></tr></table>", structure_only=True) == 0.5
    assert plain_table("no table") == "<table></table>"


def test_neighbours_of_cells() -> None:
    (pipes,) = grids_of_pipes("| Light | Height |\n|---|---|\n| North | 31 |")
    assert pipes.cells[(1, 1)].text == "31"
    assert pipes.neighbours((1, 1), "left") == {(1, 0)}
    assert pipes.headings((1, 1), "up") == {(0, 1)}
    (spanned,) = grids_of_html('<table><tr><th rowspan="2">x</th><td>1</td></tr><tr><td>2</td></tr></table>')
    assert spanned.neighbours((0, 0), "right") == {(0, 1), (1, 1)}
    assert spanned.headings((1, 1), "left") == {(0, 0)}


PAGE = (
    "# Harbour\n\nThe light was **rebuilt** in 1891.\n\n| Light | Height |\n|---|---|\n| North | 31 |\n\n"
    "Then \\( x^{2} \\) ends."
)


@pytest.mark.parametrize(
    ("test", "passes"),
    [
        ({"type": "present", "text": "light was rebuilt in 1891"}, True),
        ({"type": "present", "text": "light was rebuild in 1891"}, False),
        ({"type": "present", "text": "light was rebuild in 1891", "max_diffs": 1}, True),
        ({"type": "present", "text": "Then", "first_n": 20}, False),
        ({"type": "absent", "text": "Page 12 of 40"}, True),
        ({"type": "absent", "text": "harbour", "case_sensitive": False}, False),
        ({"type": "order", "before": "Harbour", "after": "1891"}, True),
        ({"type": "order", "before": "1891", "after": "Harbour"}, False),
        ({"type": "order", "before": "Harbur", "after": "rebuilt in 1892", "max_diffs": 1}, True),
        ({"type": "table", "cell": "31", "left": "North", "top_heading": "Height"}, True),
        ({"type": "table", "cell": "31", "left": "South"}, False),
        ({"type": "table", "cell": "31", "ignore_markdown_tables": True}, False),
        ({"type": "math", "math": "x^2"}, True),
        ({"type": "math", "math": "x^3"}, False),
        ({"type": "baseline"}, True),
        ({"type": "baseline", "max_length": 10}, False),
        ({"type": "unknown"}, False),
    ],
)
def test_unit_tests_of_a_page(test: dict[str, object], passes: bool) -> None:
    assert passes_test(PAGE, json.loads(json.dumps(test))) is passes


@pytest.mark.parametrize("page", ["", "- . -", "lamp " * 200, "灯塔"])
def test_pages_that_are_no_pages(page: str) -> None:
    assert not passes_test(page, {"type": "baseline"})
