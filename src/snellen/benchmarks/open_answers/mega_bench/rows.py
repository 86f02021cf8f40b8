"""MEGA-Bench's rows: a task's description and example, a question, and how the reply is scored."""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Mapping, Sequence

import msgspec
from msgspec import Struct

from snellen.benchmarks.declaration.declaration import Options
from snellen.benchmarks.declaration.judged import first_cell
from snellen.benchmarks.declaration.rows import build_sample
from snellen.benchmarks.open_answers.mega_bench.grading.metrics import JUDGE_METRICS
from snellen.benchmarks.open_answers.mega_bench.grading.replies import is_single, single_field
from snellen.benchmarks.open_answers.mega_bench.grading.task import FieldTask, TaskError, read_task
from snellen.benchmarks.open_answers.mega_bench.judging import criteria
from snellen.benchmarks.open_answers.mega_bench.tasks import CORE, NOT_SCORED, OPEN, SUBSET, TASK, task_groups
from snellen.core.errors import DataError
from snellen.core.sample import MediaRef, Row, Sample
from snellen.data.columns import parse_list

_SECTIONS = (
    ("global_media", ("task_description",)),
    ("example_media", ("example_text",)),
    ("query_media", ("question", "query_text")),
)
"""The media and the text of each part of a prompt, in its order."""
_MARK = re.compile(r"<image>|<video>")


class ScoringCells(Struct, frozen=True):
    """The cells of a row by which its reply is scored, and what a judge is shown."""

    answer: str
    metric_info: str
    eval_context: str
    query: str
    """The question without the marks of its pictures: for some judges they are no text."""
    media: int
    """How many pictures and videos the whole prompt has."""
    query_media: int
    """How many of them, the last ones, belong to the question."""


def mega_sample(row: Row, options: Options) -> Sample:
    """The question is the whole prompt, the gold what a right reply could be, and the hint a
    `ScoringCells` as JSON. Raises DataError."""
    kept = _scoring_cells(row)
    try:
        task = task_by(kept)
        if task.judged_fields and not task.not_scored:
            criteria(task, kept.query, "")
    except TaskError as error:
        raise DataError(str(error)) from error
    gold = _gold_reply(task)
    hint = msgspec.json.encode(kept).decode()
    groups = _groups(row.cells, task)
    return build_sample(row, question=_prompt(row), gold=gold if gold.strip() else "", hint=hint, groups=groups)


def cells_of(sample: Sample) -> ScoringCells:
    """Times of frames may stand before it."""
    return msgspec.json.decode(sample.hint.rpartition("\n")[2], type=ScoringCells)


@functools.lru_cache(maxsize=1024)
def task_by(cells: ScoringCells) -> FieldTask:
    """The task of a row. Raises TaskError."""
    return read_task(cells.answer, cells.metric_info, cells.eval_context)


def subset_of(cells: Mapping[str, str]) -> str:
    """`open` for rows that a judge scores, else `core`."""
    info = first_cell(cells, "metric_info")
    return OPEN if any(metric in info for metric in JUDGE_METRICS) else CORE


def _groups(cells: Mapping[str, str], task: FieldTask) -> dict[str, str]:
    name = first_cell(cells, "task_name")
    groups = {TASK: name, NOT_SCORED: task.not_scored}
    return {**groups, **task_groups().get(name, {SUBSET: subset_of(cells)})}


def _scoring_cells(row: Row) -> ScoringCells:
    return ScoringCells(
        answer=first_cell(row.cells, "answer"),
        metric_info=first_cell(row.cells, "metric_info"),
        eval_context=first_cell(row.cells, "eval_context"),
        query=_MARK.sub("", first_cell(row.cells, "question", "query_text")).strip(),
        media=len(row.media),
        query_media=len(_media(row)[-1]),
    )


def _media(row: Row) -> list[Sequence[MediaRef]]:
    """The media of each section by its column; by the marks in the texts where columns do not tell,
    as of pictures that stand in the table themselves. What is left is the question's."""
    sections = dict(_SECTIONS)
    counts = {name: len(parse_list(row.cells[name]) or ()) for name in row.cells if name in sections}
    marks = {name: len(_MARK.findall(first_cell(row.cells, *columns))) for name, columns in sections.items()}
    if sum(counts.values()) != len(row.media) == sum(marks.values()):
        counts = marks
    found: dict[str, Sequence[MediaRef]] = {}
    start = 0
    for name, count in counts.items():
        found[name] = row.media[start : start + count]
        start += count
    *names, last = sections
    rest = row.media[start:]
    return [*(found.get(name, ()) for name in names), (*found.get(last, ()), *rest)]


def _prompt(row: Row) -> str:
    """The three parts below each other, with a mark where each picture or video is shown: those of
    the data, or behind the part where it has another number of marks."""
    parts = []
    for (_, columns), media in zip(_SECTIONS, _media(row), strict=True):
        text = first_cell(row.cells, *columns).strip()
        if len(_MARK.findall(text)) != len(media):
            marks = "".join("<video>" if ref.kind == "video" else "<image>" for ref in media)
            text = f"{_MARK.sub('', text).strip()}\n{marks}".strip()
        parts.append(text)
    return "\n".join(part for part in parts if part)


def _gold_reply(task: FieldTask) -> str:
    """The gold as a model would write it."""
    if is_single(task.parser):
        return str(task.gold[single_field(task.gold)])
    if not any(str(value).strip() for value in task.gold.values()):
        return ""
    return json.dumps(task.gold, ensure_ascii=False)
