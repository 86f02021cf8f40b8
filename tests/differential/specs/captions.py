"""COCO Caption, by the COCO evaluation tools and by VLMEvalKit, which splits words at blanks."""

from __future__ import annotations

from tests.differential.sets import Oracle, Spec
from tests.differential.styles_caption import caption_cases

_METRICS = {"cider": "CIDEr", **{f"bleu_{n}": f"Bleu_{n}" for n in (1, 2, 3, 4)}, "rouge_l": "ROUGE_L"}
TOOLS = Oracle(
    "captions", "tylin/coco-caption", "3a9afb2682141a03e1cdc02b0df6770d2c884f6f", "BSD-2-Clause", "coco-caption"
)
VLMEVALKIT = Oracle(
    "captions", "open-compass/VLMEvalKit", "e8e78f05f3080fe28154f2130321f17951c3be94", "Apache-2.0", "VLMEvalKit"
)
SPECS = (
    Spec(
        name="coco-caption.authors",
        benchmark="coco-caption",
        rule="official",
        oracle=TOOLS,
        path="pycocoevalcap, in its package for Python 3 (1.2), with its Java tokenizer",
        cases=caption_cases(),
        arguments={"tokenizer": "PTB"},
        metrics=_METRICS,
    ),
    Spec(
        name="coco-caption.vlmevalkit",
        benchmark="coco-caption",
        rule="vlmevalkit",
        oracle=VLMEVALKIT,
        path="vlmeval/dataset/image_caption.py, COCO_Caption_Scorer",
        cases=caption_cases(),
        metrics=_METRICS,
    ),
)
