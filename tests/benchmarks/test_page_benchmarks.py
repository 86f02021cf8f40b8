"""Rows of a user's own table that ask for pages, and what their runs report."""

import json
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from snellen import score
from snellen.benchmarks.declaration.page_golds import read_page
from snellen.benchmarks.protocol.page_grading import omnidocbench_parts, page_parts
from snellen.core.benchmark import Variant
from snellen.core.errors import DataError, MissingExtra, UsageError

TABLE = "<table><tr><td>a</td><td>b</td></tr></table>"
BLOCKS = [{"category": "text", "text": "Andere Worte"}, {"latex": "x^2", "type": "formula"}]
PAGES = [
    {"index": 1, "answer": f"# One\n\nSome words of text.\n\n{TABLE}", "language": "en"},
    {"index": 2, "answer": json.dumps(BLOCKS)},
    {"index": 3, "answer": "Only text of a page that has much more of it than the others have.", "language": "en"},
]
REPLIES = ["```markdown\n# One\n\nSome words of text.\n\n|a|b|\n|-|-|\n```", "Andere Worte\n\n$$x^3$$", ""]


def summary_of(folder: Path, toml: str, replies: list[str] = REPLIES) -> Any:
    rows = [{"question": "Write it.", "type": "page", **row} for row in PAGES]
    (folder / "pages.jsonl").write_text("\n".join(map(json.dumps, rows)))
    (folder / "pages.toml").write_text(toml)
    told = [{"index": number, "prediction": reply} for number, reply in enumerate(replies, 1)]
    (folder / "replies.jsonl").write_text("\n".join(map(json.dumps, told)))
    name = folder / ("pages.toml" if toml else "pages.jsonl")
    return score(str(name), str(folder / "replies.jsonl"))


def test_parts_by_pages_and_by_what_they_hold(tmp_path: Path) -> None:
    scored = summary_of(tmp_path, 'data = "pages.jsonl"\nkind = "page"\ngroups = ["language"]\n')
    metrics = {name: metric.value for name, metric in scored.summary.metrics.items()}
    assert metrics["text_similarity"] == pytest.approx(100 * 2 / 3)
    assert metrics["formula_edit_similarity"] == pytest.approx(100 * 2 / 3)
    assert metrics["teds"] == metrics["teds_structure"] == 100
    assert metrics["page_score"] == pytest.approx((100 * 2 / 3 + 100 * 2 / 3 + 100) / 3)
    # The page that was left out has most of the text.
    assert metrics["micro_text_similarity"] < 40
    assert scored.summary.headline.name == "page_score"
    assert scored.summary.groups["language"]["en"].value == pytest.approx((50 + 100) / 2)
    assert [record.score for record in scored.records] == pytest.approx([1.0, (1 + 2 / 3) / 2, 0.0])
    assert set(scored.records[1].values) == {"text_similarity", "formula_edit_similarity", "reading_order"}


def test_pages_of_a_plain_table(tmp_path: Path) -> None:
    scored = summary_of(tmp_path, "")
    assert {record.kind for record in scored.records} == {"page"}
    assert scored.summary.headline.value == pytest.approx(100 * (1 + (1 + 2 / 3) / 2) / 3)


@pytest.mark.parametrize(
    ("gold", "message"),
    [
        ('[{"category": "text", "text": "x"}, 5]', "block 2 of the gold page is 5; expected an object with a text"),
        ("![a picture](x.png)", "has no text, table or formula"),
    ],
)
def test_mistakes_in_gold_pages_are_named(gold: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        read_page(gold)


def test_blocks_of_a_list() -> None:
    listed = [
        {"category": "Page-footer", "text": "17"},
        {"category": "text", "text": "Second", "order": 2},
        {"category": "text", "text": "First", "order": 1},
        {"category": "Caption", "text": "Fig. 1", "optional": False},
        {"category": "picture"},
    ]
    page = read_page(json.dumps(listed))
    assert [(block.text, block.optional) for block in page.in_reading_order()] == [
        ("17", True),
        ("First", False),
        ("Fig. 1", False),
        ("Second", False),
    ]


@pytest.mark.parametrize(
    "reply",
    [
        "and the next lamp\n\n" * 3000,
        "word\n\n" * 2000,
        "<table>" * 2000 + "</table>",
        "<table><tr><td>" * 1000,
        "\\begin{tabular}" * 2000 + "\\end{tabular}",
        "$$" * 5000,
        "|a|b|\n" * 400,
        "<" * 20000,
        "```\n" * 3000,
    ],
    ids=lambda reply: reply[:12].strip(),
)
def test_loops_are_scored_in_seconds(reply: str) -> None:
    gold = read_page(f"# One\n\nSome words of text that are no loop.\n\n{TABLE}").text()
    begun = time.monotonic()
    for parts in (page_parts(reply, gold), omnidocbench_parts(reply, gold)):
        assert all(0 <= value <= 1 for value in parts.values())
    assert time.monotonic() - begun < 30


def test_a_table_wants_the_packages_that_compare_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "apted", None)
    with pytest.raises(MissingExtra, match=r"snellen\[documents\]"):
        read_page(TABLE)
    assert read_page("Only text").blocks


def annotated(number: int, *blocks: dict[str, Any], relations: tuple[tuple[int, int], ...] = ()) -> dict[str, Any]:
    """A page as OmniDocBench annotates it."""
    numbered = [{"anno_id": place, "order": place + 1, **block} for place, block in enumerate(blocks)]
    links = [{"relation_type": "truncated", "source_anno_id": one, "target_anno_id": other} for one, other in relations]
    info = {"image_path": f"page-{number}.png", "page_attribute": {"language": "english", "layout": "single_column"}}
    return {"layout_dets": numbered, "page_info": info, "extra": {"relation": links}}


def later_scores(
    folder: Path,
    pages: list[dict[str, Any]],
    replies: dict[str, str],
    *,
    benchmark: str = "omnidocbench-1.5",
    more: str = "",
) -> Any:
    (folder / "OmniDocBench.json").write_text(json.dumps(pages))
    (folder / "replies").mkdir()
    for name, text in replies.items():
        (folder / "replies" / f"{name}.md").write_text(text)
    spec = f"{benchmark}:file={folder / 'OmniDocBench.json'}{more}"
    return score(spec, str(folder / "replies"), variant=Variant(rule="official"))


def test_the_authors_file_of_pages_is_scored_by_version_1_5(tmp_path: Path) -> None:
    text = {"category_type": "text_block", "text": "The harbour was rebuilt."}
    formula = {"category_type": "equation_isolated", "latex": "$$E = mc^2$$"}
    caption = {"category_type": "figure_caption", "text": "Figure 1: the tower"}
    pages = [annotated(1, text, formula), annotated(2, text, caption), annotated(3, text)]
    replies = {
        # Each is a file of its own, as tools that read documents write them. A formula that is written as text
        # counts as text; captions and what is invented do not count.
        "page-1": "The harbour was rebuilt.\n\nE = mc2",
        "page-2": "The harbour was rebuilt.\n\nFigure 1: the tower",
        "page-3": "The harbour was rebuilt.\n\nNobody wrote this sentence.",
    }
    scored = later_scores(tmp_path, pages, replies)
    assert scored.summary.headline.name == "overall_with_formula_edits"
    assert {record.id: dict(record.values) for record in scored.records} == {
        "page-1": {"text_similarity": 1.0, "reading_order": 1.0},
        "page-2": {"text_similarity": 1.0, "reading_order": 1.0},
        "page-3": {"text_similarity": 1.0, "reading_order": 1.0},
    }


def test_formulas_are_not_drawn_by_a_rule_that_compares_them_otherwise(tmp_path: Path) -> None:
    pages = [annotated(1, {"category_type": "text_block", "text": "Words"})]
    with pytest.raises(
        UsageError, match=r"formulas=cdm belongs to the rules? snellen of this benchmark, got --rule off"
    ):
        later_scores(tmp_path, pages, {"page-1": "Words"}, benchmark="omnidocbench", more=",formulas=cdm")


def test_a_paragraph_cut_twice_is_one_and_counts_its_middle_twice_by_the_authors_rule() -> None:
    texts = [{"category_type": "text_block", "text": text} for text in ("one ", "two ", "three")]
    (block,) = read_page(json.dumps(annotated(1, *texts, relations=((0, 1), (1, 2))))).blocks
    assert (block.text, block.source) == ("one two three", "one two two three")
    page = annotated(1, *texts[:2], relations=((0, 1),))
    assert read_page(json.dumps(page)).blocks[0].source == ""


def test_a_benchmark_whose_data_are_not_downloaded_asks_for_its_file(tmp_path: Path) -> None:
    (tmp_path / "replies.json").write_text('[{"id": "1", "prediction": "x"}]')
    with pytest.raises(UsageError, match="give its authors' file with --data FILE"):
        score("omnidocbench-v15", str(tmp_path / "replies.json"))
