"""TempCompass: 7,540 questions about time in 410 short videos, in four tasks (Liu et al. 2024,
https://arxiv.org/abs/2403.00476).

One example row: video_id "1034419625", dim "action", question "What is the man doing in the
video?\\nA. dunking a basketball\\nB. dribbling a basketball\\nC. passing a basketball", answer "A.
dunking a basketball".

Oddities: options stand in the question, and the gold is a whole option; the sentences of
`caption_matching` are named "Sentence A", "Caption B", "Option 1"; a caption is graded by whether
the question `mc_question` can be answered from it, so that `captioning` has no score without a
judge. Some videos are others played backwards or slowed down. The headline is the share of right
questions, as the authors print it; `dim` groups the five aspects of time.

The authors read by rule what is plainly written and ask a language model for "Correct" or
"Incorrect" for the rest, as we do with `--judge`; without a judge the rest is wrong (in VLMEvalKit
too). `--rule official` has their rules; ours read more replies, so that fewer go to a judge. The
rubrics are the authors', as VLMEvalKit has them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, cast

from msgspec import structs

from snellen.benchmarks.declaration.concat_tables import concat_tables
from snellen.benchmarks.declaration.declaration import Declaration, Options, Video
from snellen.benchmarks.declaration.golds import label_of_gold, yes_no_golds
from snellen.benchmarks.declaration.inline_options import label_of
from snellen.benchmarks.declaration.judged import RULE, Judged
from snellen.benchmarks.declaration.published import HubSplit, Published
from snellen.benchmarks.declaration.rows import build_sample
from snellen.benchmarks.declaration.video_questions import video_name
from snellen.benchmarks.declaration.videos import find_videos
from snellen.benchmarks.protocol.judging import JudgePanel
from snellen.benchmarks.videos.tempcompass.flow import ABOUT_CAPTION, CAPTIONING, RUBRICS, TASKS, Task, build_flow
from snellen.core.benchmark import REQUIRES_TEXT, DataTable, FetchProgress, Variant
from snellen.core.flow import Flow
from snellen.core.request import Generation
from snellen.core.sample import Row, Sample
from snellen.data.columns import row_gold
from snellen.data.tables.options import split_inline_options
from snellen.extract.published.tempcompass import sentences_by_name
from snellen.extract.yes_no_words import lone_yes_no

NAME = "tempcompass"
ALL = "all"
_TASK_VALUES = (ALL, *TASKS)
_TASK_OF_CELL: Mapping[str, Task] = {
    "mcq": "multi-choice",
    "multi-choice": "multi-choice",
    "multi_choice": "multi-choice",
    "yes_no": "yes_no",
    "caption_matching": "caption_matching",
    "captioning": "captioning",
}
"""What a column `task_type` may say."""


def task_of(row: Row) -> Task:
    """Told by a column `task_type`, else seen from the question."""
    cells = row.cells
    task = _TASK_OF_CELL.get(cells.get("task_type", "").strip().lower())
    if task is not None:
        return task
    if "mc_question" in cells:
        return "captioning"
    if row_gold(row) and all(map(lone_yes_no, row_gold(row))):
        return "yes_no"
    question = cells.get("question", "")
    if split_inline_options(question).options:
        return "multi-choice"
    return "caption_matching" if sentences_by_name(question) else "captioning"


def _sample(row: Row, options: Options) -> Sample | None:
    """Of the task or of all; the options of choices leave the question."""
    task = task_of(row)
    if options["task"] not in (ALL, task):
        return None
    groups = {"dim": row.cells.get("dim", ""), "task": task}
    sample = build_sample(row, gold=row_gold(row), groups=groups, unit=video_name(row))
    return _ADJUST_BY_TASK[task](sample, row.cells)


def _adjust_choice(sample: Sample, cells: Mapping[str, str]) -> Sample:
    split = split_inline_options(sample.question)
    golds = tuple(label_of_gold(gold, split.options) for gold in sample.gold)
    return structs.replace(sample, kind="choice", question=split.question, options=split.options, gold=golds)


def _adjust_yes_no(sample: Sample, cells: Mapping[str, str]) -> Sample:
    return structs.replace(sample, kind="yes_no", gold=yes_no_golds(sample.gold))


def _adjust_matching(sample: Sample, cells: Mapping[str, str]) -> Sample:
    """The sentences stay in the question; the gold is the name of one."""
    sentences = sentences_by_name(sample.question)
    golds = tuple(_sentence_name(gold, sentences) for gold in sample.gold)
    return structs.replace(sample, gold=golds)


def _adjust_captioning(sample: Sample, cells: Mapping[str, str]) -> Sample:
    golds = (cells["mc_answer"],) if "mc_answer" in cells else sample.gold
    labels = tuple(label_of(gold) or gold for gold in golds)
    about = {ABOUT_CAPTION: cells["mc_question"]} if "mc_question" in cells else {}
    return structs.replace(sample, options=about, gold=labels)


_ADJUST_BY_TASK: Mapping[Task, Callable[[Sample, Mapping[str, str]], Sample]] = {
    "multi-choice": _adjust_choice,
    "yes_no": _adjust_yes_no,
    "caption_matching": _adjust_matching,
    "captioning": _adjust_captioning,
}


def _sentence_name(gold: str, sentences: Mapping[str, str]) -> str:
    text = gold.strip()
    fitting = (
        name
        for name, sentence in sentences.items()
        if text in (name, sentence) or text.startswith((f"{name}:", f"{name}."))
    )
    return next(fitting, text)


def _task_variant(variant: Variant, task: str) -> Variant:
    return replace(variant, options={"task": task})


_TASK_FILES = Published(
    {"task": _TASK_VALUES[1:]},
    {(task,): HubSplit(f"hf://lmms-lab/TempCompass?config={task}&split=test") for task in TASKS},
)


@dataclass(frozen=True, slots=True)
class TaskFiles:
    """A published data set for each task, and all of them one after the other."""

    published: Published

    @property
    def options(self) -> Mapping[str, Sequence[str]]:
        return {"task": _TASK_VALUES}

    def table(self, variant: Variant) -> DataTable:
        task = variant.options.get("task", ALL)
        if variant.data is not None or task != ALL:
            return self._task_table(variant, task)
        return concat_tables(NAME, [self._task_table(variant, task) for task in TASKS])

    def _task_table(self, variant: Variant, task: str) -> DataTable:
        return find_videos(self.published.table(_task_variant(variant, task)), variant, NAME)

    def fetcher(self, variant: Variant) -> Callable[[FetchProgress | None], Path] | None:
        task = variant.options.get("task", ALL)
        if task == ALL:
            return None
        return self.published.fetcher(_task_variant(variant, task))

    def few_shot_source(self, variant: Variant) -> str:
        return ""

    def facts(self, variant: Variant, spec: str) -> Mapping[str, str]:
        return self.published.facts(variant, spec)


def _for_task(declaration: Declaration, variant: Variant) -> Declaration:
    is_captioning = variant.options.get("task") == CAPTIONING
    return replace(declaration, scoring=replace(_SCORING, must_judge=is_captioning))


def _flow(settings: Generation, panel: JudgePanel, options: Mapping[str, str]) -> Callable[[Sample], Flow]:
    return build_flow(settings, panel, cast(Literal["snellen", "official"], options[RULE]))


_SCORING = Judged(
    flow=_flow, rubrics=tuple(RUBRICS.values()), rules=dict.fromkeys(("snellen", "official")), max_judge_tokens=512
)
BENCHMARK = Declaration(
    name=NAME,
    version="7",
    title="TempCompass, time in short videos",
    paper="https://arxiv.org/abs/2403.00476",
    provenance="TempCompass (CC BY-NC 4.0), lmms-eval's data set",
    data=TaskFiles(_TASK_FILES),
    aliases={
        "TempCompass": {"task": "all"},
        "TempCompass_8frame": {"task": "all", "frames": "8", "sampling": "vlmevalkit"},
        "TempCompass_64frame": {"task": "all", "frames": "64", "sampling": "vlmevalkit"},
        "TempCompass_1fps": {"task": "all", "fps": "1", "frames": "2048"},
        "TempCompass_0.5fps": {"task": "all", "fps": "0.5", "frames": "2048"},
        "TempCompass_MCQ": {"task": "multi-choice"},
        "TempCompass_Captioning": {"task": "captioning"},
        "TempCompass_YorN": {"task": "yes_no"},
        "tempcompass_multi_choice": {"task": "multi-choice", "sampling": "lmms-eval"},
        "tempcompass_yes_no": {"task": "yes_no", "sampling": "lmms-eval"},
        "tempcompass_caption_matching": {"task": "caption_matching", "sampling": "lmms-eval"},
        "tempcompass_captioning": {"task": "captioning", "sampling": "lmms-eval"},
    },
    for_variant=_for_task,
    sample=_sample,
    requires=REQUIRES_TEXT,
    video=Video(search_cache=False),
    scoring=_SCORING,
)
