"""MMBench-Video: some 2,000 open questions about some 600 videos from the web (Fang et al. 2024,
https://arxiv.org/abs/2406.14515).

One example row: index 0, video "one_processed", video_path "./video/one_processed.mp4", question
"What colour is the boat?", answer "It is white.", dimensions "['Attribute Recognition']".

A judge marks how near a reply is to the reference, 0 to 3; the headline is the mean over
all questions, 0..3. A question counts once under each of its 26 dimensions, and once in each of the
nine abilities and in perception or reasoning where one of its dimensions is.

Oddities: the videos lie in pickles on the hub, which are not opened here: VLMEvalKit writes them as
MP4 files; keep these beside the TSV. Each question is asked alone ("nopack"), as leaderboards do;
`pack=on` asks all questions of a video at once, and a question that the reply leaves out is worth
nothing. VLMEvalKit cuts such an answer at its first colon where the object is not well formed, and
cannot read the bare reply to a single question; here both are read. A verdict that cannot be read
leaves the sample ungraded; VLMEvalKit counts it as 0 in the headline. Prompts and rubric are the
authors', as VLMEvalKit has them. There is no score without a judge.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import partial

from snellen.benchmarks.declaration.declaration import Declaration, Headline, Options, Video
from snellen.benchmarks.declaration.judged import Judged, first_cell, split_list
from snellen.benchmarks.declaration.published import single_tsv
from snellen.benchmarks.declaration.rows import build_sample
from snellen.benchmarks.declaration.video_questions import video_name
from snellen.benchmarks.protocol.judged_summary import SEPARATOR
from snellen.benchmarks.protocol.judging import JudgePanel
from snellen.benchmarks.protocol.point_grading import PointScale, point_graded_flow, summarise_in_points
from snellen.benchmarks.videos.mmbench_video.prompts import (
    add_pack,
    find_answer_in_pack,
    pack_messages,
    single_messages,
)
from snellen.core.benchmark import REQUIRES_TEXT, Variant
from snellen.core.errors import UsageError
from snellen.core.flow import Flow
from snellen.core.request import Generation
from snellen.core.sample import Row, Sample
from snellen.data.columns import row_gold
from snellen.extract.verdicts import GRADE, parse_grade

NAME = "mmbench-video"
RUBRIC = "mmbench-video"
TOP = 3.0
DIMENSION, ABILITY, SIDE = "dimension", "ability", "perception or reasoning"
_PACK = {"pack": ("off", "on")}
_FRAME_OPTIONS = {
    "8frame": {"frames": "8", "sampling": "vlmevalkit"},
    "16frame": {"frames": "16", "sampling": "vlmevalkit"},
    "64frame": {"frames": "64", "sampling": "vlmevalkit"},
    "1fps": {"fps": "1", "frames": "2048"},
}
_PACK_TOKENS = 2048
ABILITIES: Mapping[str, tuple[str, ...]] = {
    "CP": ("Video Topic", "Video Emotion", "Video Scene", "Video Style"),
    "FP-S": ("OCR", "Object Recognition", "Attribute Recognition", "Event Recognition", "Human Motion", "Counting"),
    "FP-C": ("Spatial Relationship", "Human-object Interaction", "Human Interaction"),
    "HL": ("Hallucination",),
    "LR": ("Structuralized Image-Text Understanding", "Mathematical Calculation"),
    "AR": ("Physical Property", "Function Reasoning", "Identity Reasoning"),
    "RR": ("Natural Relation", "Physical Relation", "Social Relation"),
    "CSR": ("Common Sense Reasoning",),
    "TR": ("Counterfactual Reasoning", "Causal Reasoning", "Future Prediction"),
}
"""The paper's nine abilities and their 26 dimensions."""
_PERCEPTION = frozenset({"CP", "FP-S", "FP-C", "HL"})


def _sample(row: Row, options: Options) -> Sample:
    """With its dimensions and the abilities these belong to."""
    groups = _groups(split_list(first_cell(row.cells, "dimensions")))
    return build_sample(row, gold=row_gold(row)[:1], groups=groups, unit=video_name(row))


def _groups(dimensions: tuple[str, ...]) -> dict[str, str]:
    abilities = [
        ability
        for ability, members in ABILITIES.items()
        if {name.lower() for name in members} & {name.lower() for name in dimensions}
    ]
    sides = dict.fromkeys("Perception" if ability in _PERCEPTION else "Reasoning" for ability in abilities)
    groups = {DIMENSION: dimensions, ABILITY: abilities, SIDE: sides}
    return {column: SEPARATOR.join(labels) for column, labels in groups.items()}


def _flow(settings: Generation, panel: JudgePanel, options: Mapping[str, str]) -> Callable[[Sample], Flow]:
    read = partial(parse_grade, low=0.0, high=TOP, integers_only=True)
    marking = PointScale(rubric=RUBRIC, parse=read, names=(GRADE,), top=TOP)
    if options["pack"] == "on":
        return point_graded_flow(settings, panel, lambda sample: marking, pack_messages, find_answer_in_pack)
    return point_graded_flow(settings, panel, lambda sample: marking, single_messages)


def _for_pack(declaration: Declaration, variant: Variant) -> Declaration:
    """`pack=on` asks all questions about a video at once."""
    if variant.options.get("pack") != "on":
        return declaration
    if variant.options.get("video") == "native":
        raise UsageError(f"{NAME}:pack=on asks about frames; with video=native every question is asked alone")
    return replace(declaration, sample=None, samples=_pack_samples, max_new_tokens=_PACK_TOKENS)


def _pack_samples(rows: Iterable[Row]) -> Iterator[Sample]:
    return iter(add_pack(_sample(row, {}) for row in rows))


BENCHMARK = Declaration(
    name=NAME,
    version="5",
    title="MMBench-Video, open questions marked 0 to 3 by a judge",
    paper="https://arxiv.org/abs/2406.14515",
    provenance="MMBench-Video of OpenCompass (CC BY 4.0), as VLMEvalKit's TSV",
    data=single_tsv(
        "https://huggingface.co/datasets/opencompass/MMBench-Video/resolve/main/MMBench-Video.tsv",
        "98f7df3eb1007fc375ea6fe88a98e2ff",
    ),
    aliases={
        "MMBench-Video": {},
        **{f"MMBench_Video_{name}_nopack": frame_options for name, frame_options in _FRAME_OPTIONS.items()},
        **{
            f"MMBench_Video_{name}_pack": {**frame_options, "pack": "on"}
            for name, frame_options in _FRAME_OPTIONS.items()
        },
    },
    options=_PACK,
    for_variant=_for_pack,
    sample=_sample,
    requires=REQUIRES_TEXT,
    video=Video(),
    scoring=Judged(
        flow=_flow, rubrics=(RUBRIC,), must_judge=True, multi_label=(DIMENSION, ABILITY, SIDE), max_judge_tokens=64
    ),
    headline=Headline(name="overall", summarise=partial(summarise_in_points, top=TOP)),
    oracle=TOP,
)
