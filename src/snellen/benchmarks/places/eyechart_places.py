"""Eyechart of places: the bundled benchmark of boxes and points, drawn by `training/tiny/places.py`
with seeds that no training picture uses.

One example row: index 1, question "Find the orange circle.", bbox `[21, 28, 88, 95]` in pixels,
category "square" (the format of its picture), l2-category "box" (its task), split "test", image
<base64 PNG, 128x128>.

Oddities: rows that ask about the same picture name an earlier row's index in `image`; a point is
right on the drawn pixels of its shape, so that the hole of a ring is wrong; every eighth question
about all shapes of a kind asks for one that is not there.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from snellen.benchmarks.abilities.eyechart import PackagedFiles
from snellen.benchmarks.declaration.declaration import Declaration, Options
from snellen.benchmarks.declaration.place_rules import PlaceRules
from snellen.benchmarks.declaration.places import add_gold, place_headline
from snellen.benchmarks.declaration.scoring import place_questions
from snellen.core.benchmark import Variant, requires
from snellen.core.sample import Row

TASK = "task"
RULES = {
    "box": PlaceRules(metric="iou@0.5", beside=("iou",), gold="bbox"),
    "point": PlaceRules(shape="point", metric="inside", gold="mask", gold_shape="mask"),
    "labels": PlaceRules(
        count=0, metric="f1@0.5", beside=("map", "precision@0.5", "recall@0.5"), gold="bbox", labelled=True
    ),
    "count": PlaceRules(
        shape="point", count=0, metric="count", beside=("count_closeness", "inside"), gold="bbox", gold_shape="box"
    ),
}
"""What each task asks for, and how it is scored."""


def _is_asked(row: Row, options: Options) -> bool:
    return row.cells.get("l2-category") == options[TASK]


def _for_task(declaration: Declaration, variant: Variant) -> Declaration:
    """The declaration with the rules of the task of a variant. An unknown task is refused later."""
    rules = RULES.get(variant.options.get(TASK, "box"), RULES["box"])
    return replace(
        declaration, scoring=place_questions(rules), adjust=partial(add_gold, rules), headline=place_headline(rules)
    )


BENCHMARK = Declaration(
    name="eyechart-places",
    version="2",
    title="Eyechart of places: boxes, points, labels and counts of coloured shapes",
    provenance="drawn by this repository (Apache-2.0)",
    data=PackagedFiles({"test": "eyechart_places.tsv"}),
    options={TASK: tuple(RULES)},
    for_variant=_for_task,
    keep=_is_asked,
    group_by=("category",),
    requires=requires("text", "image"),
    scoring=place_questions(RULES["box"]),
)
