"""Pages of documents by the evaluations of OmniDocBench and olmOCR-Bench."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import count
from typing import Any

from tests.differential.oracle_list import VLMEVALKIT
from tests.differential.sets import Case, Oracle, Spec
from tests.differential.styles_pages import LANGUAGES, LAYOUTS, Table, page, page_replies, table_rows, tabular

_OMNIDOCBENCH = Oracle(
    "omnidocbench", VLMEVALKIT.repository, VLMEVALKIT.commit, VLMEVALKIT.licence, VLMEVALKIT.checkout
)
_PAGES = 30
_CONTENT = {"table": "html", "equation_isolated": "latex"}
_WITHOUT_ORDER = frozenset({"header", "page_footnote", "page_number"})


def omnidocbench_annotation(number: int) -> dict[str, Any]:
    """A page as OmniDocBench annotates it; every seventh has a paragraph that is cut."""
    found: list[dict[str, Any]] = []
    order = count(1)
    relations = []
    for place, part in enumerate(page(number)):
        block = {"category_type": part.category, "anno_id": place, "ignore": False}
        block["order"] = None if part.category in _WITHOUT_ORDER else next(order)
        if number % 7 == 3 and place == 2:
            middle = len(part.text) // 2
            found.append({**block, "text": part.text[:middle]})
            found.append({**block, "text": part.text[middle:], "anno_id": 100 + place, "order": next(order)})
            relations.append({"relation_type": "truncated", "source_anno_id": place, "target_anno_id": 100 + place})
            continue
        found.append({**block, _CONTENT.get(part.category, "text"): part.text})
        if part.category == "table":
            found[-1]["latex"] = tabular(table_rows(part.text))
    if number % 9 == 4:
        found.append({"category_type": "text_block", "anno_id": 90, "order": next(order), "text": "* * *"})
    found.append({"category_type": "figure", "anno_id": 91, "order": next(order)})
    attributes = {
        "data_source": ("book", "academic_literature", "newspaper")[number % 3],
        "language": LANGUAGES[number % 3],
        "layout": LAYOUTS[number % 4],
        "watermark": False,
        "special_issue": [],
    }
    info = {"image_path": f"page_{number}.jpg", "page_attribute": attributes}
    return {"layout_dets": found, "page_info": info, "extra": {"relation": relations}}


def _omnidocbench_cases() -> Iterator[Case]:
    for number, (place, style, reply) in enumerate(page_replies(_PAGES, 4)):
        yield Case(
            str(number), {"answer": json.dumps(omnidocbench_annotation(place), ensure_ascii=False)}, style, reply
        )


_OLMOCR = Oracle("olmocr_bench", "allenai/olmocr", "f7cfe4c22098b154c76b6ec950d1c0a464eecf8d", "Apache-2.0", "olmocr")
_CATEGORIES = ("tables", "multi_column", "old_scans", "headers_footers", "long_tiny_text", "arxiv_math")


def _unit_tests(number: int) -> list[dict[str, Any]]:
    """Tests of each type of a made-up page."""
    parts = page(number)
    texts = [part.text for part in parts if part.category == "text_block"]
    header = next(part.text for part in parts if part.category == "header")
    found: list[dict[str, Any]] = [
        {"type": "present", "text": texts[0][:40], "max_diffs": number % 3},
        {"type": "present", "text": texts[-1].upper(), "case_sensitive": False, "max_diffs": 1},
        {"type": "present", "text": texts[0][5:25], "first_n": 120, "max_diffs": 1},
        {"type": "absent", "text": header, "max_diffs": 2},
        {"type": "absent", "text": header, "first_n": 40, "last_n": 30},
        {"type": "order", "before": texts[0][:20], "after": texts[-1][:20], "max_diffs": number % 3},
        {"type": "order", "before": texts[0][:12], "after": texts[0][-12:]},
    ]
    for part in parts:
        if part.category == "table":
            found += _table_tests(table_rows(part.text), number % 2)
        if part.category == "equation_isolated":
            found.append({"type": "math", "math": part.text.replace(" \\tag{4}", "")})
    found.append({"type": "baseline", **_BASELINES[number % len(_BASELINES)]})
    return [one for one in found if one.get("cell", "x")]


_BASELINES: tuple[dict[str, Any], ...] = (
    {},
    {"check_disallowed_characters": False},
    {"max_length": 60, "max_length_skips_image_alt_tags": True},
    {"max_length": 900},
    {"max_repeats": 5, "check_disallowed_characters": False},
)


def _table_tests(rows: Table, edits: int) -> list[dict[str, Any]]:
    last = rows[-1]
    return [
        {"type": "table", "cell": last[1], "left": last[0], "up": rows[-2][1], "max_diffs": edits},
        {"type": "table", "cell": last[1], "top_heading": rows[0][1], "left_heading": last[0]},
        {"type": "table", "cell": rows[1][0], "right": rows[1][1], "down": rows[2][0]},
        {"type": "table", "cell": rows[1][1], "left": rows[1][0], "ignore_markdown_tables": True},
    ]


def _olmocr_cases() -> Iterator[Case]:
    """For each reply a test of its page, in turn, and one of what its style changes; and the baseline that
    pages get."""
    for number, (place, style, reply) in enumerate(page_replies(_PAGES, 5)):
        tests = _unit_tests(place)
        wanted = "math" if "formula" in style else "table" if "table" in style else ""
        chosen = [tests[(number * 3 + number // 5) % len(tests)]]
        chosen += [test for test in tests if test["type"] == wanted][number % 3 :][:1]
        pdf = f"{_CATEGORIES[place % 6]}/page_{number}.pdf"
        listed = [{"pdf": pdf, "page": 1, "id": f"{number}.{turn}", **test} for turn, test in enumerate(chosen)]
        yield Case(str(number), {"answer": json.dumps(listed, ensure_ascii=False)}, style, reply)


SPECS = (
    Spec(
        name="omnidocbench.authors",
        benchmark="omnidocbench",
        rule="official",
        oracle=_OMNIDOCBENCH,
        path="vlmeval/dataset/OmniDocBench, end2end_evaluator",
        cases=_omnidocbench_cases,
        metrics={
            "edit_similarity": "overall",
            "text_similarity": "text_block Edit_dist",
            "formula_edit_similarity": "display_formula Edit_dist",
            "table_edit_similarity": "table Edit_dist",
            "teds": "table TEDS",
            "teds_structure": "table TEDS_structure_only",
            "reading_order": "reading_order Edit_dist",
            "language/english": "overall, language: english",
            "language/simplified_chinese": "overall, language: simplified_chinese",
        },
    ),
    Spec(
        name="olmocr-bench.authors",
        benchmark="olmocr-bench",
        rule="official",
        oracle=_OLMOCR,
        path="olmocr/bench/tests.py, load_single_test(test).run",
        cases=_olmocr_cases,
        metrics={
            "mean_of_categories": "mean of categories",
            **{f"category/{name}": name for name in (*_CATEGORIES, "baseline")},
        },
    ),
)
