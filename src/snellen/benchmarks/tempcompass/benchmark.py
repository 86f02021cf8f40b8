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

from snellen.benchmarks.declaration.concat_tables import joined
from snellen.benchmarks.declaration.inline_options import inline_options, label_of
from snellen.benchmarks.declaration.judged import Declared, distinct, graded_benchmark
from snellen.benchmarks.declaration.published import HubSplit, Published
from snellen.benchmarks.declaration.video_questions import video_of, with_videos
from snellen.benchmarks.declaration.videos import watching_of, with_video
from snellen.benchmarks.protocol.judging import Panel
from snellen.benchmarks.protocol.parsers import chosen_rule
from snellen.benchmarks.tempcompass.flow import (
    ABOUT_CAPTION,
    CAPTIONING,
    RUBRICS,
    TASKS,
    Task,
    flow_of,
)
from snellen.core.benchmark import Benchmark, Table, Variant, needs
from snellen.core.flow import Flow
from snellen.core.request import Generation
from snellen.core.sample import Row, Sample
from snellen.data.columns import row_gold, row_id
from snellen.extract.published.tempcompass import named_sentences

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
_CHOSEN = (ALL, *TASKS)
_RULES = ("snellen", "official")
_WRITTEN: Mapping[str, Task] = {
    "mcq": "multi-choice",
    "multi-choice": "multi-choice",
    "multi_choice": "multi-choice",
    "yes_no": "yes_no",
    "caption_matching": "caption_matching",
    "captioning": "captioning",
}
"""What a column `task_type` may say."""
DATA = Published(
    {"task": _CHOSEN[1:]},
    {(task,): HubSplit(f"hf://lmms-lab/TempCompass?config={task}&split=test") for task in TASKS},
)


def benchmark(variant: Variant) -> Benchmark:
    rest, watching = watching_of(variant)
    rule = chosen_rule(NAME, rest, dict.fromkeys(_RULES))
    task = rest.options.get("task", ALL)
    asked = graded_benchmark(
        replace(rest, rule=None),
        Declared(
            name=NAME,
            version=VERSION,
            title="TempCompass, time in short videos",
            data=Published({}, {}),
            options={"task": _CHOSEN},
            samples=partial(samples, task=task),
            flow=partial(_flow, rule=rule),
            paper="https://arxiv.org/abs/2403.00476",
            source="TempCompass (CC BY-NC 4.0), lmms-eval's data set",
            rubrics=tuple(RUBRICS.values()),
            must_judge=task == CAPTIONING,
            needs=needs("text"),
            max_new_tokens=512,
            judge_tokens=512,
        ),
    )
    asked = replace(
        asked,
        open=partial(_table, rest, task),
        fetch=None if task == ALL else partial(DATA.fetch, _of_task(rest, cast(Task, task))),
        rules=_RULES,
        parameters={**asked.parameters, **({} if rule == "snellen" else {"rule": rule})},
    )
    return with_video(asked, watching)


def samples(rows: Iterable[Row], task: str) -> Iterator[Sample]:
    """Samples of one task or of all; the options of choices leave the question."""
    path = str(getattr(rows, "path", NAME))
    made = (_sample(row, task_of(row)) for row in rows if task in (ALL, task_of(row)))
    return distinct(made, path)


def task_of(row: Row) -> Task:
    """Told by a column `task_type`, else seen from the question."""
    cells = row.cells
    told = _WRITTEN.get(cells.get("task_type", "").strip().lower())
    if told is not None:
        return told
    if "mc_question" in cells:
        return "captioning"
    if {gold.strip().lower() for gold in row_gold(row)} <= {"yes", "no"} and row_gold(row):
        return "yes_no"
    question = cells.get("question", "")
    if inline_options(question).options:
        return "multi-choice"
    return "caption_matching" if named_sentences(question) else "captioning"


def _sample(row: Row, task: Task) -> Sample:
    cells, golds = row.cells, row_gold(row)
    sample = Sample(
        id=row_id(row),
        kind="open",
        question=cells.get("question", ""),
        gold=golds,
        media=row.media,
        groups={**({"dim": cells["dim"]} if "dim" in cells else {}), "task": task},
        unit=video_of(row),
    )
    return _SHAPES[task](sample, cells)


def _choice(sample: Sample, cells: Mapping[str, str]) -> Sample:
    found = inline_options(sample.question)
    golds = tuple(label_of(gold) or gold for gold in sample.gold)
    return structs.replace(
        sample, kind="choice", question=found.question, options=found.options, gold=golds
    )


def _yes_no(sample: Sample, cells: Mapping[str, str]) -> Sample:
    golds = tuple(gold.strip().capitalize() for gold in sample.gold)
    return structs.replace(sample, kind="yes_no", gold=golds)


def _matching(sample: Sample, cells: Mapping[str, str]) -> Sample:
    """The sentences stay in the question; the gold is the name of one."""
    sentences = named_sentences(sample.question)
    golds = tuple(_name_of(gold, sentences) for gold in sample.gold)
    return structs.replace(sample, gold=golds)


def _captioning(sample: Sample, cells: Mapping[str, str]) -> Sample:
    golds = (cells["mc_answer"],) if "mc_answer" in cells else sample.gold
    labels = tuple(label_of(gold) or gold for gold in golds)
    about = {ABOUT_CAPTION: cells["mc_question"]} if "mc_question" in cells else {}
    return structs.replace(sample, options=about, gold=labels)


_SHAPES: Mapping[Task, Callable[[Sample, Mapping[str, str]], Sample]] = {
    "multi-choice": _choice,
    "yes_no": _yes_no,
    "caption_matching": _matching,
    "captioning": _captioning,
}


def _name_of(gold: str, sentences: Mapping[str, str]) -> str:
    text = gold.strip()
    fitting = (
        name
        for name, sentence in sentences.items()
        if text in (name, sentence) or text.startswith((f"{name}:", f"{name}."))
    )
    return next(fitting, text)


def _table(variant: Variant, task: str) -> Table:
    if variant.data is not None or task != ALL:
        return with_videos(DATA.table(_of_task(variant, cast(Task, task))), variant, NAME)
    tables = [with_videos(DATA.table(_of_task(variant, one)), variant, NAME) for one in TASKS]
    return joined(NAME, tables)


def _of_task(variant: Variant, task: Task) -> Variant:
    return replace(variant, options={"task": task})


def _flow(
    settings: Generation, panel: Panel, options: Mapping[str, str], rule: str
) -> Callable[[Sample], Flow]:
    return flow_of(settings, panel, cast(Literal["snellen", "official"], rule))
