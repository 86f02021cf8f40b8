"""BLINK: 14 visual tasks that people solve within a blink (Fu et al. 2024,
https://arxiv.org/abs/2404.12390).

One example row: index "val_Visual_Similarity_1", question "Given three similar but different
images, ...", A "the second image", B "the third image", answer "A", category "Visual_Similarity",
image <base64 of up to four pictures>.

Oddities: the authors average over the 14 tasks, which is the headline here; VLMEvalKit averages
over questions (`accuracy`), which is the headline by its rule. In the authors' files answers read
"(A)" and a prediction counts only if it equals that string: "(C) Point C" is wrong by their script
(`--rule official`), not by ours. `rotations=file` is VLMEvalKit's BLINK_circular, which holds every
rotation as a row.
"""

from __future__ import annotations

import re
from dataclasses import replace

from msgspec import structs

from snellen.benchmarks.declaration.declaration import Declaration, Headline
from snellen.benchmarks.declaration.published import Published, published_tsv
from snellen.benchmarks.declaration.scoring import choices
from snellen.benchmarks.declaration.video_questions import group_mean
from snellen.benchmarks.protocol.parsers import VLMEVALKIT, ParserSet
from snellen.core.benchmark import Variant, requires
from snellen.core.sample import Row, Sample
from snellen.extract.published.official import parse_blink

HEADLINE = "task_mean"
_TASK_COLUMNS = ("task", "category")
"""Columns that may name a question's task: the authors' and VLMEvalKit's."""
_TASK_ID = re.compile(r"(?:val|test)_(.+)_\d+")
_HIDDEN = "hidden"
_HOME = "https://opencompass.openxlab.space/utils/VLMEval"


def _adjust(sample: Sample, row: Row) -> Sample:
    """The authors' result files, one for each task, name the task in the id alone
    (`val_Art_Style_1`) and hold `hidden` in place of the answers of the test split."""
    if sample.gold == (_HIDDEN,):
        sample = structs.replace(sample, gold=())
    named = any(column in sample.groups for column in _TASK_COLUMNS)
    match = None if named else _TASK_ID.fullmatch(sample.id)
    if match is None:
        return sample
    return structs.replace(sample, groups={**sample.groups, _TASK_COLUMNS[0]: match[1]})


def _for_rotations(declaration: Declaration, variant: Variant) -> Declaration:
    """The file that holds every rotation is asked circularly."""
    if variant.options.get("rotations") != "file":
        return declaration
    scoring = replace(_SCORING, circular="early")
    return replace(declaration, scoring=scoring)


_SCORING = choices(official=ParserSet(parse_blink))

BENCHMARK = Declaration(
    name="blink",
    version="4",
    title="BLINK, 14 tasks of visual perception",
    paper="https://arxiv.org/abs/2404.12390",
    provenance="BLINK (Apache-2.0), as VLMEvalKit's TSV",
    data=Published(
        {"rotations": ("none", "file")},
        {
            ("none",): published_tsv(f"{_HOME}/BLINK.tsv", "d5e8af148b10ac69f535ff7b23f3f989"),
            ("file",): published_tsv(f"{_HOME}/BLINK_circular.tsv", "f44c9f19afda14262cd1e0731bd01f9e"),
        },
    ),
    aliases={"BLINK_circular": {"rotations": "file"}},
    group_by=(*_TASK_COLUMNS, "split"),
    adjust=_adjust,
    requires=requires("text", "image"),
    headline=replace(group_mean(HEADLINE, *_TASK_COLUMNS), in_circular=True),
    rule_headlines={VLMEVALKIT: Headline()},
    scoring=_SCORING,
    for_variant=_for_rotations,
)
