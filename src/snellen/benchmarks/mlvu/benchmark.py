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

from dataclasses import replace

from snellen.benchmarks.declaration.other_tools import OtherToolName
from snellen.benchmarks.declaration.published import HubSplit, Published, PublishedFile
from snellen.benchmarks.declaration.video_questions import VideoDeclaration, video_benchmark
from snellen.benchmarks.declaration.videos import split_video_options, with_video
from snellen.benchmarks.mlvu.open_tasks import OPEN_TASKS, open_tasks_benchmark, published_parts
from snellen.benchmarks.protocol.flows import parse_yes_no_by_words
from snellen.benchmarks.protocol.parsers import PARSERS, VLMEVALKIT, ParserSet
from snellen.core.benchmark import Benchmark, Variant
from snellen.core.sample import Row
from snellen.data.download import RemoteFile
from snellen.extract.published.official import parse_before_bracket
from snellen.extract.published.vlmevalkit_own import bracket_parser
from snellen.prompts.choice import PromptTemplate

VERSION = "6"
HEADLINE = "m_avg"
PART, PARTS = "part", ("choice", "open")
DEFAULTS = {"frames": "16"}
PAPER = "https://arxiv.org/abs/2406.04264"
ALIASES = {
    "MLVU": {},
    "MLVU_MCQ": {},
    "MLVU_OpenEnded": {"part": "open"},
    "MLVU_8frame": {"frames": "8", "sampling": "vlmevalkit"},
    "MLVU_64frame": {"frames": "64", "sampling": "vlmevalkit"},
    "MLVU_1fps": {"fps": "1", "frames": "2048"},
    "mlvu_dev": {"edition": "dev", "sampling": "lmms-eval"},
    "mlvu_test": {"edition": "test", "sampling": "lmms-eval"},
}
ELSEWHERE = {"mlvu": OtherToolName("VLMEvalKit", "asks both the choices and the open questions")}
_DEV = published_parts(
    "MLVU_MCQ.jsonl",
    *("1_plotQA", "2_needle", "3_ego", "4_count", "5_order", "6_anomaly_reco", "7_topic_reasoning"),
)
DATA = Published(
    {"edition": ("vlmevalkit", "dev", "test")},
    {
        ("vlmevalkit",): PublishedFile(
            "MLVU_MCQ.tsv", RemoteFile(urls=(), md5="bb5c37e7cf8d43fc9a25c23d2b4633f5"), _DEV
        ),
        ("dev",): HubSplit("hf://sy1998/MLVU_dev?split=test"),
        ("test",): HubSplit("hf://sy1998/MLVU_Test?split=test"),
    },
)
TEMPLATE = PromptTemplate(
    hint="{hint}", question="{question}", options="", option="({label}) {text}",
    choose="Only give the best option.",
)  # fmt: skip


def benchmark(variant: Variant) -> Benchmark:
    if variant.options.get(PART) == "open":
        return _open_benchmark(variant)
    return video_benchmark(
        variant,
        VideoDeclaration(
            name="mlvu",
            version=VERSION,
            title="MLVU, long videos, seven multiple-choice tasks",
            data=DATA,
            template=TEMPLATE,
            groups=("task_type",),
            headline=HEADLINE,
            mean_of="task_type",
            keep=is_choice_row,
            options={PART: PARTS},
            defaults=DEFAULTS,
            official=ParserSet(parse_before_bracket, parse_yes_no_by_words),
            vlmevalkit=PARSERS[VLMEVALKIT]._replace(choice_with_gold=bracket_parser),
            paper=PAPER,
            source="MLVU (CC BY-NC-SA 4.0), as VLMEvalKit's TSV or lmms-eval's data sets",
        ),
    )


def _open_benchmark(variant: Variant) -> Benchmark:
    rest, watching = split_video_options(variant, DEFAULTS)
    rest = replace(rest, options={k: v for k, v in rest.options.items() if k != PART})
    judged = open_tasks_benchmark(rest, name="mlvu", version=VERSION, paper=PAPER)
    judged = replace(
        judged,
        options={PART: PARTS, **judged.options},
        parameters={PART: "open", **judged.parameters},
    )
    return with_video(judged, watching, DEFAULTS)


def is_choice_row(row: Row) -> bool:
    """Whether a row is of one of the seven multiple-choice tasks."""
    return row.cells.get("task_type", "").strip().lower() not in OPEN_TASKS
