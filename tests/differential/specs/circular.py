"""Benchmarks under CircularEval: every rotation of a question is a row, and all must be right."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from tests.differential import questions_choice as pools
from tests.differential import styles_choice
from tests.differential.oracle_list import VLMEVALKIT
from tests.differential.sets import Case, Spec
from tests.differential.specs.choices import Cells, Pool, table_row
from tests.differential.styles_choice import Choice

STRIDE = 1_000_000
"""Rotation r of question i is the row i + r * 1,000,000."""


def rotated(question: Choice, turns: int) -> Choice:
    """The question with its option texts moved by that many labels."""
    labels = list(question.options)
    texts = list(question.options.values())
    moved = texts[turns:] + texts[:turns]
    gold = labels[(labels.index(question.gold) - turns) % len(labels)]
    return Choice(question.question, dict(zip(labels, moved, strict=True)), gold)


def circular_cases(cells: Cells, questions: Pool) -> Callable[[], Iterator[Case]]:
    """Three questions for each style, with all their rotations. In the first turn every rotation
    is answered in the style, in the others only the first row is: its rotations are answered by a
    plain label, of which every seventh is wrong."""

    def cases() -> Iterator[Case]:
        number = 0
        for turn in range(3):
            for position, (style, write) in enumerate(styles_choice.styles()):
                number += 1
                question = questions[(position + turn * 2) % len(questions)]
                for turns in range(len(question.options)):
                    turned = rotated(question, turns)
                    plain = turn > 0 and turns > 0
                    wrong = (position + turn + 3 * turns) % (7 if plain else 5) == 0
                    label = turned.other if wrong else turned.gold
                    rest = [name for name in turned.options if name != label]
                    other = rest[(position + turns) % len(rest)]
                    texts = turned.options
                    said = label if plain else write(label, texts[label], other, texts[other])
                    name = str(number + turns * STRIDE)
                    yield Case(name, cells(turned, number), style, said)

    return cases


def _circular(benchmark: str, dataset: str, pool: Pool, metrics: Mapping[str, str] = {}, **columns: Any) -> Spec:
    return Spec(
        name=f"{benchmark.replace(':', '@')}.vlmevalkit",
        benchmark=benchmark,
        rule="vlmevalkit",
        oracle=VLMEVALKIT,
        path="vlmeval/dataset/image_mcq.py, ImageMCQDataset.evaluate",
        cases=circular_cases(table_row(**columns), pool),
        arguments={"dataset": dataset, "scale": 100},
        metrics={"circular": "Overall", **metrics},
    )


_LEVELS = ("logic_reasoning", "coarse_perception", "attribute_reasoning")
_ABILITIES = {"l2-category/logic_reasoning": "LR", "l2-category/attribute_reasoning": "AR"}
_MMBENCH = {
    "category": ("structuralized_imagetext_understanding", "image_scene", "identity_reasoning"),
    "l2-category": _LEVELS,
    "split": "dev",
    "hint": ("The passage below\ndescribes an experiment.", "", ""),
    "source": "made up",
}
SPECS = (
    _circular("mmbench", "MMBench_DEV_EN", pools.ABILITIES, _ABILITIES, **_MMBENCH),
    _circular("mmbench:version=1.1", "MMBench_DEV_EN_V11", pools.SCIENCE, _ABILITIES, **_MMBENCH),
    _circular("mmbench:lang=cn", "MMBench_DEV_CN", pools.CHINESE, _ABILITIES, **_MMBENCH),
    _circular(
        "ccbench",
        "CCBench",
        pools.CHINESE,
        {"category/food_clothes": "food_clothes"},
        category=("food_clothes", "calligraphy_painting", "cultural_relic"),
    ),
    _circular("mmcr", "MMCR", pools.MEDICINE, category=("scene", "text")),
    _circular("mtl-mmbench", "MMBench_dev_en", pools.ABILITIES, _ABILITIES, **_MMBENCH),
    _circular("mtl-mmbench:lang=tr", "MMBench_dev_tr", pools.LANGUAGES, _ABILITIES, **_MMBENCH),
    _circular("blink:rotations=file", "BLINK_circular", pools.PERCEPTION, category=("Counting", "Jigsaw"), split="val"),
)
