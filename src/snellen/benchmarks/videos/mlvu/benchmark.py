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
runs to 10; M-Avg and G-Avg are never one number. Rows of the other part are not asked.

The questions are published as one JSON file a task; VLMEvalKit joins them into `MLVU_MCQ.tsv`,
lmms-eval's are on the hub. Without that file the authors' are fetched. The videos are looked for
under their `prefix` beside the file and in `videos/mlvu` of the cache.
"""

from __future__ import annotations

from collections.abc import Mapping

from snellen.benchmarks.declaration.declaration import Declaration
from snellen.benchmarks.declaration.other_tools import OtherToolName
from snellen.benchmarks.declaration.published import HubSplit, Published, PublishedFile
from snellen.benchmarks.declaration.scoring import choices
from snellen.benchmarks.declaration.video_questions import MAX_NEW_TOKENS, adjust_choice, group_mean
from snellen.benchmarks.protocol.flows import parse_yes_no_by_words
from snellen.benchmarks.protocol.parsers import PARSERS, VLMEVALKIT, ParserSet
from snellen.benchmarks.videos.mlvu.open_tasks import (
    OPEN_PART,
    OPEN_TASKS,
    PAPER,
    PART,
    PARTS,
    VERSION,
    VIDEO,
    published_parts,
)
from snellen.core.benchmark import Variant
from snellen.core.sample import Row
from snellen.data.download import RemoteFile
from snellen.extract.published.official import parse_before_bracket
from snellen.extract.published.vlmevalkit_own import bracket_parser
from snellen.prompts.choice import PromptTemplate

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
        official=ParserSet(parse_before_bracket, parse_yes_no_by_words),
        vlmevalkit=PARSERS[VLMEVALKIT]._replace(choice_with_gold=bracket_parser),
    ),
    headline=group_mean("m_avg", "task_type"),
)
