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

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Literal, cast

from msgspec import structs

from snellen.benchmarks.declaration.concat_tables import concat_tables
from snellen.benchmarks.declaration.inline_options import label_of, split_inline_options
from snellen.benchmarks.declaration.judged import (
    JudgedDeclaration,
    check_unique_ids,
    judged_benchmark,
)
from snellen.benchmarks.declaration.published import HubSplit, Published
from snellen.benchmarks.declaration.video_questions import find_videos, video_name
from snellen.benchmarks.declaration.videos import split_video_options, with_video
from snellen.benchmarks.protocol.judging import JudgePanel
from snellen.benchmarks.protocol.parsers import select_rule
from snellen.benchmarks.tempcompass.flow import (
    ABOUT_CAPTION,
    CAPTIONING,
    RUBRICS,
    TASKS,
    Task,
    build_flow,
)
from snellen.core.benchmark import Benchmark, Table, Variant, requires
from snellen.core.flow import Flow
from snellen.core.request import Generation
from snellen.core.sample import Row, Sample
from snellen.data.columns import row_gold, row_id
from snellen.extract.published.tempcompass import sentences_by_name

VERSION = "5"
NAME = "tempcompass"
ALIASES = {
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
}
ALL = "all"
_TASK_VALUES = (ALL, *TASKS)
_RULES = ("snellen", "official")
_TASK_OF_CELL: Mapping[str, Task] = {
    "mcq": "multi-choice",
    "multi-choice": "multi-choice",
    "multi_choice": "multi-choice",
    "yes_no": "yes_no",
    "caption_matching": "caption_matching",
    "captioning": "captioning",
}
"""What a column `task_type` may say."""
DATA = Published(
    {"task": _TASK_VALUES[1:]},
    {(task,): HubSplit(f"hf://lmms-lab/TempCompass?config={task}&split=test") for task in TASKS},
)


def benchmark(variant: Variant) -> Benchmark:
    rest, watching = split_video_options(variant)
    rule = select_rule(NAME, rest, dict.fromkeys(_RULES))
    task = rest.options.get("task", ALL)
    judged = judged_benchmark(
        replace(rest, rule=None),
        JudgedDeclaration(
            name=NAME,
            version=VERSION,
            title="TempCompass, time in short videos",
            data=Published({}, {}),
            options={"task": _TASK_VALUES},
            samples=partial(task_samples, task=task),
            flow=partial(_flow, rule=rule),
            paper="https://arxiv.org/abs/2403.00476",
            source="TempCompass (CC BY-NC 4.0), lmms-eval's data set",
            rubrics=tuple(RUBRICS.values()),
            must_judge=task == CAPTIONING,
            requires=requires("text"),
            max_new_tokens=512,
            max_judge_tokens=512,
        ),
    )
    judged = replace(
        judged,
        open=partial(_open_table, rest, task),
        fetch=None if task == ALL else partial(DATA.fetch, _task_variant(rest, cast(Task, task))),
        rules=_RULES,
        parameters={**judged.parameters, **({} if rule == "snellen" else {"rule": rule})},
    )
    return with_video(judged, watching)


def task_samples(rows: Iterable[Row], task: str) -> Iterator[Sample]:
    """Samples of one task or of all; the options of choices leave the question."""
    path = str(getattr(rows, "path", NAME))
    made = (_sample(row, task_of(row)) for row in rows if task in (ALL, task_of(row)))
    return check_unique_ids(made, path)


def task_of(row: Row) -> Task:
    """Told by a column `task_type`, else seen from the question."""
    cells = row.cells
    told = _TASK_OF_CELL.get(cells.get("task_type", "").strip().lower())
    if told is not None:
        return told
    if "mc_question" in cells:
        return "captioning"
    if {gold.strip().lower() for gold in row_gold(row)} <= {"yes", "no"} and row_gold(row):
        return "yes_no"
    question = cells.get("question", "")
    if split_inline_options(question).options:
        return "multi-choice"
    return "caption_matching" if sentences_by_name(question) else "captioning"


def _sample(row: Row, task: Task) -> Sample:
    cells, golds = row.cells, row_gold(row)
    sample = Sample(
        id=row_id(row),
        kind="open",
        question=cells.get("question", ""),
        gold=golds,
        media=row.media,
        groups={**({"dim": cells["dim"]} if "dim" in cells else {}), "task": task},
        unit=video_name(row),
    )
    return _ADJUST_BY_TASK[task](sample, cells)


def _adjust_choice(sample: Sample, cells: Mapping[str, str]) -> Sample:
    found = split_inline_options(sample.question)
    golds = tuple(label_of(gold) or gold for gold in sample.gold)
    return structs.replace(
        sample, kind="choice", question=found.question, options=found.options, gold=golds
    )


def _adjust_yes_no(sample: Sample, cells: Mapping[str, str]) -> Sample:
    golds = tuple(gold.strip().capitalize() for gold in sample.gold)
    return structs.replace(sample, kind="yes_no", gold=golds)


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


def _open_table(variant: Variant, task: str) -> Table:
    if variant.data is not None or task != ALL:
        return find_videos(DATA.table(_task_variant(variant, cast(Task, task))), variant, NAME)
    tables = [find_videos(DATA.table(_task_variant(variant, one)), variant, NAME) for one in TASKS]
    return concat_tables(NAME, tables)


def _task_variant(variant: Variant, task: Task) -> Variant:
    return replace(variant, options={"task": task})


def _flow(
    settings: Generation, panel: JudgePanel, options: Mapping[str, str], rule: str
) -> Callable[[Sample], Flow]:
    return build_flow(settings, panel, cast(Literal["snellen", "official"], rule))
