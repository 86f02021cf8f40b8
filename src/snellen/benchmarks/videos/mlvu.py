"""MLVU: long videos of 3 minutes to 2 hours in nine tasks (Zhou et al. 2024,
https://arxiv.org/abs/2406.04264).

One example row: task_type "plotQA", prefix "video/1_plotQA/", video "movie101_66.mp4", duration
480.0, question "What color is the main male character in the video?", candidates ["Yellow", "Red",
"Green", "Blue"], answer "Yellow" (in VLMEvalKit's TSV "(A) Yellow").

Seven tasks are multiple choice and make M-Avg: the mean of the tasks' accuracies, as in the paper.
VLMEvalKit's M-Avg is the share of right questions, which stands beside it as `accuracy`, and a
failed question lowers it by one more than a wrong one; with us it is left out. The authors' script
takes the sign before the first closing bracket, or the whole reply (`--rule official`). Two open
tasks (`part=open`) make G-Avg: a judge gives two marks of 1 to 5, which are added up, so that it
runs to 10, in its authors' words; M-Avg and G-Avg are never one number. Rows of the other part are
not asked.

The questions are published as one JSON file a task; VLMEvalKit joins them into `MLVU_MCQ.tsv`,
lmms-eval's are on the hub. Without that file the authors' are fetched. The videos are looked for
under their `prefix` beside the file and in `videos/mlvu` of the cache.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

from snellen.benchmarks.declaration.declaration import Declaration, Headline, Options, Video
from snellen.benchmarks.declaration.judged import Judged, first_cell
from snellen.benchmarks.declaration.other_tools import OtherToolName
from snellen.benchmarks.declaration.published import HubSplit, Published, PublishedFile
from snellen.benchmarks.declaration.rows import build_sample
from snellen.benchmarks.declaration.scoring import choices
from snellen.benchmarks.declaration.video_questions import MAX_NEW_TOKENS, adjust_choice, group_mean, video_name
from snellen.benchmarks.protocol.judging import JudgePanel
from snellen.benchmarks.protocol.parsers import PARSERS, VLMEVALKIT, ParserSet
from snellen.benchmarks.protocol.point_grading import PointScale, point_graded_flow, summarise_in_points
from snellen.core.benchmark import REQUIRES_TEXT, Variant
from snellen.core.record import Flow
from snellen.core.request import Generation
from snellen.core.sample import Row, Sample
from snellen.data.columns import row_gold
from snellen.data.download import RemoteFile
from snellen.data.json_parts import JsonPart, JsonParts
from snellen.extract.published.official import parse_before_bracket
from snellen.extract.published.vlmevalkit_own import bracket_parser
from snellen.extract.verdicts import ParsedVerdict, parse_object, parse_pair
from snellen.prompts.choice import PromptTemplate

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


_DEV = published_parts(
    "MLVU_MCQ.jsonl", *("1_plotQA", "2_needle", "3_ego", "4_count", "5_order", "6_anomaly_reco", "7_topic_reasoning")
)


def is_choice_row(row: Row, options: Mapping[str, str]) -> bool:
    """Whether a row is of one of the seven multiple-choice tasks."""
    return row.cells.get("task_type", "").strip().lower() not in OPEN_TASKS


def _for_part(declaration: Declaration, variant: Variant) -> Declaration:
    return OPEN_PART if variant.options.get(PART) == "open" else declaration


BENCHMARK = Declaration(
    name="mlvu",
    version=VERSION,
    title="MLVU, long videos, seven multiple-choice tasks",
    paper=PAPER,
    provenance="MLVU (CC BY-NC-SA 4.0), as VLMEvalKit's TSV or lmms-eval's data sets",
    data=Published(
        {"edition": ("vlmevalkit", "dev", "test")},
        {
            ("vlmevalkit",): PublishedFile(
                "MLVU_MCQ.tsv", RemoteFile(urls=(), md5="bb5c37e7cf8d43fc9a25c23d2b4633f5"), _DEV
            ),
            ("dev",): HubSplit("hf://sy1998/MLVU_dev?split=test"),
            ("test",): HubSplit("hf://sy1998/MLVU_Test?split=test"),
        },
    ),
    aliases={
        "MLVU": {},
        "MLVU_MCQ": {},
        "MLVU_OpenEnded": {"part": "open"},
        "MLVU_8frame": {"frames": "8", "sampling": "vlmevalkit"},
        "MLVU_64frame": {"frames": "64", "sampling": "vlmevalkit"},
        "MLVU_1fps": {"fps": "1", "frames": "2048"},
        "mlvu_dev": {"edition": "dev", "sampling": "lmms-eval"},
        "mlvu_test": {"edition": "test", "sampling": "lmms-eval"},
    },
    other_tools={"mlvu": OtherToolName("VLMEvalKit", "asks both the choices and the open questions")},
    options={PART: PARTS},
    for_variant=_for_part,
    keep=is_choice_row,
    kind="choice",
    group_by=("task_type",),
    adjust=adjust_choice,
    template=PromptTemplate(
        hint="{hint}", question="{question}", options="", option="({label}) {text}", choose="Only give the best option."
    ),
    max_new_tokens=MAX_NEW_TOKENS,
    video=VIDEO,
    scoring=choices(
        official=ParserSet(parse_before_bracket),
        vlmevalkit=PARSERS[VLMEVALKIT]._replace(choice_with_gold=bracket_parser),
    ),
    headline=group_mean("m_avg", "task_type"),
)
