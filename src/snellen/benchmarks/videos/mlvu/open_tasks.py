"""The two open tasks of MLVU, marked by a judge in its authors' words: sub-scene captioning and
summary (G-Avg)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

from snellen.benchmarks.declaration.declaration import Declaration, Headline, Options, Video
from snellen.benchmarks.declaration.judged import Judged, first_cell
from snellen.benchmarks.declaration.published import Published, PublishedFile
from snellen.benchmarks.declaration.rows import build_sample
from snellen.benchmarks.declaration.video_questions import video_name
from snellen.benchmarks.protocol.judging import JudgePanel
from snellen.benchmarks.protocol.point_grading import PointScale, point_graded_flow, summarise_in_points
from snellen.core.benchmark import REQUIRES_TEXT
from snellen.core.flow import Flow
from snellen.core.request import Generation
from snellen.core.sample import Row, Sample
from snellen.data.columns import row_gold
from snellen.data.download import RemoteFile
from snellen.data.json_parts import JsonPart, JsonParts
from snellen.extract.verdicts import ParsedVerdict, parse_object, parse_pair

VERSION = "8"
PAPER = "https://arxiv.org/abs/2406.04264"
PART, PARTS = "part", ("choice", "open")
VIDEO = Video(defaults={"frames": "16"})
OPEN_TASKS = frozenset({"sub_scene", "subplot", "summary"})
SUMMARY = "summary"
HEADLINE = "g_avg"
TOP = 10.0
"""Two marks of 5."""
TASK = "task_type"
_NAMES = {False: ("accuracy", "relevance"), True: ("completeness", "reliability")}
_MARK = "score_"
_RUBRICS = {False: "mlvu-subplot", True: "mlvu-summary"}


def published_parts(name: str, *tasks: str) -> JsonParts:
    """The questions of these tasks, as the authors publish them: a file for each."""
    home = "https://huggingface.co/datasets/MLVU/MVLU/resolve/main/MLVU/json"
    cells = [{"task_type": task.partition("_")[2], "prefix": f"video/{task}"} for task in tasks]
    files = (f"{home}/{task}.json" for task in tasks)
    return JsonParts(name, home, tuple(map(JsonPart, files, cells)))


def _sample(row: Row, options: Options) -> Sample | None:
    """Of open tasks; replies are compared with `scoring_points` if the data have them."""
    task = row.cells.get(TASK, "").strip()
    if task.lower() not in OPEN_TASKS:
        return None
    golds = first_cell(row.cells, "scoring_points") or row_gold(row)[:1]
    return build_sample(row, gold=golds, groups={TASK: task}, unit=video_name(row))


def _flow(settings: Generation, panel: JudgePanel, options: Mapping[str, str]) -> Callable[[Sample], Flow]:
    return point_graded_flow(settings, panel, _point_scale)


def _point_scale(sample: Sample) -> PointScale:
    is_summary = sample.groups[TASK].lower() == SUMMARY
    read = partial(parse_two_marks, names=_NAMES[is_summary])
    return PointScale(rubric=_RUBRICS[is_summary], parse=read, names=_NAMES[is_summary], top=TOP)


def parse_two_marks(reply: str, names: tuple[str, str]) -> ParsedVerdict | None:
    """Two marks of 1 to 5: as an object by name ("score_accuracy", as the judge is asked, or
    "accuracy"), or as two numbers in this order."""
    by_name = parse_object(reply)
    if by_name is not None:
        marks = {str(key).strip().lower().removeprefix(_MARK): mark for key, mark in by_name.items()}
        reply = f"{marks.get(names[0])} {marks.get(names[1])}"
    return parse_pair(reply, names, 1.0, 5.0)


OPEN_PART = Declaration(
    name="mlvu",
    version=VERSION,
    title="MLVU, long videos, two open tasks",
    paper=PAPER,
    provenance="MLVU (CC BY-NC-SA 4.0), as VLMEvalKit's TSV",
    data=Published(
        {},
        {
            (): PublishedFile(
                "MLVU_OpenEnded.tsv",
                RemoteFile(urls=(), md5="cee573a3627c6ac434ded704c60511ba"),
                published_parts("MLVU_OpenEnded.jsonl", "8_sub_scene", "9_summary"),
            )
        },
    ),
    options={PART: PARTS},
    sample=_sample,
    requires=REQUIRES_TEXT,
    max_new_tokens=1024,
    video=VIDEO,
    scoring=Judged(flow=_flow, rubrics=tuple(_RUBRICS.values()), must_judge=True, max_judge_tokens=1024),
    headline=Headline(name=HEADLINE, summarise=partial(summarise_in_points, top=TOP)),
    oracle=TOP,
)
"""The open part; it has no score without a judge."""
