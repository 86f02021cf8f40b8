"""CC-OCR by its authors' evaluators and by VLMEvalKit's copy of an earlier version of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from tests.differential.oracle_list import VLMEVALKIT
from tests.differential.sets import Oracle, Spec
from tests.differential.styles_open import Open, open_cases
from tests.differential.styles_transcript import ROWS, TRANSCRIPTS

_AUTHORS = Oracle(
    "authors_open",
    "AlibabaResearch/AdvancedLiterateMachinery",
    "fb6187ebe5374d5682ac0bc05f31e3639ab6fb15",
    "MIT",
    "AdvancedLiterateMachinery",
)
_CELLS = {question.question: cells for cells, question in ROWS}
_QUESTIONS = tuple(question for _, question in ROWS)
_CLOSE = 1e-3
"""Both divide by sums with a millionth added, so that a mean of one picture is less by as much."""


def _cells(question: Open, number: int) -> Mapping[str, Any]:
    return {
        **_CELLS[question.question],
        "image_name": f"{number}.jpg",
        "question": question.question,
        "answer": question.golds[0],
    }


_CASES = open_cases(_cells, _QUESTIONS, turns=3, bases=TRANSCRIPTS)

SPECS = (
    Spec(
        name="cc-ocr.authors",
        benchmark="cc-ocr",
        rule="official",
        oracle=_AUTHORS,
        path="Benchmarks/CC-OCR/evaluation/evaluator, evaluator_map_info",
        cases=_CASES,
        arguments={"scorer": "ccocr", "missing": True},
        metrics={
            "mean_of_tracks": "total",
            **{
                name: name
                for name in (
                    "subset/multi_scene_ocr/IC15",
                    "subset/multi_lan_ocr/Japanese",
                    "subset/doc_parsing/doc_scan_eng",
                    "subset/doc_parsing/table_photo_chn",
                    "subset/kie/CORD",
                    "micro_f1/multi_scene_ocr/zh_dense",
                )
            },
        },
        close=_CLOSE,
    ),
    Spec(
        name="cc-ocr.vlmevalkit",
        headline="total",
        benchmark="cc-ocr",
        rule="vlmevalkit",
        oracle=replace(VLMEVALKIT, script="vlmevalkit_open"),
        path="vlmeval/dataset/image_ccocr.py, CCOCRDataset.evaluate",
        cases=_CASES,
        arguments={"how": "alone", "dataset": "CCOCR", "metric": "total", "scale": 100, "fillers": []},
        metrics={
            "mean_of_tracks": "total",
            "category/multi_scene_ocr": "scene_ocr",
            "category/multi_lan_ocr": "lan_ocr",
            "category/doc_parsing": "doc_parsing",
            "category/kie": "kie",
        },
        close=_CLOSE,
    ),
)
