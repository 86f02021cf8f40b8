"""Pages of documents by the evaluations of OmniDocBench and olmOCR-Bench."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import count
from typing import Any

from tests.differential.oracle_list import VLMEVALKIT
from tests.differential.sets import Case, Oracle, Spec
from tests.differential.styles_pages import LANGUAGES, LAYOUTS, page, page_replies, table_rows, tabular

_OMNIDOCBENCH = Oracle(
    "omnidocbench", VLMEVALKIT.repository, VLMEVALKIT.commit, VLMEVALKIT.licence, VLMEVALKIT.checkout
)
_PAGES = 30
_CONTENT = {"table": "html", "equation_isolated": "latex"}
_WITHOUT_ORDER = frozenset({"header", "page_footnote", "page_number"})


def _annotation(number: int) -> dict[str, Any]:
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
        yield Case(str(number), {"answer": json.dumps(_annotation(place), ensure_ascii=False)}, style, reply)


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
)
