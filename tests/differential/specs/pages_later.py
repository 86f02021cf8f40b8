"""Pages by OmniDocBench's evaluation of version 1.5, from a copy of the authors' repository."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from tests.differential.sets import Case, Oracle, Spec
from tests.differential.specs.pages import omnidocbench_annotation
from tests.differential.styles_pages import page_replies

_OMNIDOCBENCH = Oracle(
    "omnidocbench_later",
    "pichiu/OmniDocBench",
    "7bd6c2ebdb7676e6fd251b0e695e15e09cf3ab5d",
    "Apache-2.0",
    "OmniDocBench-1.5",
)
_PAGES = 30
_ARRAY = r"\begin{array}{l} a = b + 1 \\ c = \frac{d}{2} \\ e^{2} < 4 \end{array}"
_MATRIX = r"\left( \begin{array}{cc} 1 & 0 \\ 0 & x \end{array} \right)"
_WORDS = {"english": "The light is seen far out.", "simplified_chinese": "灯光很远就能看见。"}
_ENDINGS = {
    "array": f"\\[ {_ARRAY} \\]",
    "array by dollars": f"$$\n{_ARRAY}\n$$",
    "array in lines": "\\[ a = b + 1 \\]\n\n\\[ c = \\frac{d}{2} \\]\n\n\\[ e^{2} < 4 \\]",
    "array as text": "a = b + 1\n\nc = d/2\n\ne² < 4",
    "array in one text": "a = b + 1, c = d/2, e² < 4",
    "array inline": "$a = b + 1$ $c = \\frac{d}{2}$ and $e^{2} < 4$",
    "matrix": f"\\[ {_MATRIX} \\]",
    "matrix in a line": f"Here ${_MATRIX}$ stands.",
    "centred array": f"\\[ {_ARRAY.replace('{l}', '{c}', 1)} \\]",
    "caption": "Figure 1: the light",
    "caption nearly": "Figure 1: the lights!",
    "caption and more": "Figure 1: the light\n\nand more of it",
    "in a fence of HTML": "```html\n<p>end</p>\n```",
    "in a fence of LaTeX": "```latex\n\\[ a = b + 1 \\]\n```",
    "two tables more": "<table><tr><td>a $\\cdot$ b</td><td>c<b>d</b></td></tr></table>\n\n"
    "<table><tr><td>9</td></tr></table>",
}
"""What stands at the end of a page: in the gold pages an array, a matrix and a caption, here how replies write them."""


def _annotation(number: int) -> dict[str, Any]:
    """A page whose last paragraph is cut twice, and which ends in formulas of several lines."""
    annotated = omnidocbench_annotation(number)
    blocks = annotated["layout_dets"]
    order = max(block["order"] or 0 for block in blocks)
    words = _WORDS.get(annotated["page_info"]["page_attribute"]["language"], "灯塔 lighthouse by the sea.")
    for place in range(3):
        text = words[place * 5 : place * 5 + 5]
        blocks.append({"category_type": "text_block", "anno_id": 200 + place, "order": order + place + 1, "text": text})
    links = ((200, 201), (201, 202)) if number % 2 else ((201, 202), (200, 201))
    annotated["extra"]["relation"] += [
        {"relation_type": "truncated", "source_anno_id": first, "target_anno_id": second} for first, second in links
    ]
    for place, formula in enumerate((_ARRAY, _MATRIX)[: 1 + number % 2]):
        latex = f"\\[ {formula} \\]" if number % 3 else f"$$\n{formula}\n$$"
        last = {
            "category_type": "equation_isolated",
            "anno_id": 210 + place,
            "order": order + 4 + place,
            "latex": latex,
        }
        blocks.append(last)
    blocks.append({"category_type": "figure_caption", "anno_id": 220, "order": None, "text": "Figure 1: the light"})
    return annotated


def _cases() -> Iterator[Case]:
    for number, (place, style, reply) in enumerate(page_replies(_PAGES, 2)):
        ending = tuple(_ENDINGS)[number % len(_ENDINGS)]
        language = omnidocbench_annotation(place)["page_info"]["page_attribute"]["language"]
        whole = number % 4 and len(reply) > 200
        words = "" if number % 8 == 3 else _WORDS.get(language, "灯塔 lighthouse by the sea.")
        text = f"{reply}\n\n{words}\n\n{_ENDINGS[ending]}" if whole else reply
        yield Case(str(number), {"answer": json.dumps(_annotation(place), ensure_ascii=False)}, style, text)


SPECS = (
    Spec(
        name="omnidocbench-v15.authors",
        benchmark="omnidocbench-v15",
        rule="official",
        oracle=_OMNIDOCBENCH,
        path="dataset/end2end_dataset.py, End2EndDataset; metrics/cal_metric.py",
        cases=_cases,
        metrics={
            "overall_with_formula_edits": "overall",
            "text_similarity": "text_block Edit_dist",
            "formula_edit_similarity": "display_formula Edit_dist",
            "table_edit_similarity": "table Edit_dist",
            "teds": "table TEDS",
            "teds_structure": "table TEDS_structure_only",
            "reading_order": "reading_order Edit_dist",
        },
    ),
)
