"""MEGA-Bench's rows: a task's description and example, a question, and how the reply is scored; its 505 tasks and
what they are counted by (facts of `data/mega_bench_tasks.csv`).

What a judge is asked about a field are the criteria of the task, which the data hold (`gpt4o_eval_configs`): a
template whose names stand for the reply, the question, the gold answer or what the row says of its evaluation.
"""

from __future__ import annotations

import csv
import functools
import json
import re
from collections.abc import Mapping, Sequence
from importlib.resources import files
from typing import Any

import msgspec
from msgspec import Struct

from snellen.benchmarks.declaration.declaration import Options
from snellen.benchmarks.declaration.judged import first_cell
from snellen.benchmarks.declaration.rows import build_sample
from snellen.benchmarks.open_answers.mega_bench.grading.metrics import JUDGE_METRICS
from snellen.benchmarks.open_answers.mega_bench.grading.replies import is_single, single_field
from snellen.benchmarks.open_answers.mega_bench.grading.task import FieldTask, TaskError, read_task
from snellen.benchmarks.protocol.judged_summary import SEPARATOR
from snellen.core.errors import DataError
from snellen.core.sample import MediaRef, Row, Sample
from snellen.data.columns import parse_list
from snellen.extract.verdicts import GRADE, ParsedVerdict, parse_grade

TASK, SUBSET, SKILL = "task", "subset", "skill"
NOT_SCORED = "not_scored"
"""Group of the questions that no metric here scores: the metric's name."""
CORE, OPEN = "core", "open"
DIMENSIONS = ("application", SKILL, "input_format", "output_format", "input_number")
"""What the tasks are divided by (Sec. 3.1); a task needs several skills."""


@functools.cache
def task_groups() -> Mapping[str, Mapping[str, str]]:
    """Each task's subset and dimensions; several skills are joined by `SEPARATOR`."""
    text = (files("snellen.benchmarks") / "data" / "mega_bench_tasks.csv").read_text("utf-8")
    return {
        row["task"]: {
            SUBSET: row["subset"],
            "application": row["application"],
            SKILL: SEPARATOR.join(row["skills"].split(";")),
            "input_format": row["input_format"],
            "output_format": row["output_format"],
            "input_number": row["input_number"],
        }
        for row in csv.DictReader(text.splitlines())
    }


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


TOP = 10.0
RUBRIC, PICTURES_RUBRIC = "mega-bench", "mega-bench-pictures"
_NAME = re.compile(r"\{\{|\}\}|\{(\w+)\}")
_SCORE = re.compile(r"\*\*Score\*\*\s*:\s*(\d+)")


def rubric_of(task: FieldTask) -> str:
    """The rubric: with the pictures of the question or without."""
    shown = task.judging.get("judge_model_type") == "with image"
    return PICTURES_RUBRIC if shown else RUBRIC


def criteria(task: FieldTask, question: str, value: Any) -> str:
    """The criteria with the value of a reply and the rest filled in. Raises TaskError."""
    template = task.judging.get("eval_criteria_prompt")
    mapping = task.judging.get("template_mapping")
    if not isinstance(template, str) or not isinstance(mapping, Mapping):
        raise TaskError(
            "`metric_info` has no criteria for the judge; expected gpt4o_eval_configs with "
            "eval_criteria_prompt and template_mapping"
        )

    def fill(match: re.Match[str]) -> str:
        if match[1] is None:
            return match[0][0]
        return _meaning(str(mapping.get(match[1], "")), task, question, value)

    return _NAME.sub(fill, template)


def _meaning(meaning: str, task: FieldTask, question: str, value: Any) -> str:
    if meaning == "model_output":
        return str(value)
    if meaning == "example_question":
        return question
    whole, _, name = meaning.partition(".")
    values = {"answers": task.gold, "eval_context": task.context}.get(whole, {})
    if name not in values:
        raise TaskError(
            f"the criteria in `metric_info` speak of {meaning!r}, which the row does not have; "
            "expected model_output, example_question, answers.FIELD or eval_context.NAME"
        )
    return str(values[name])


def parse_score(reply: str) -> ParsedVerdict | None:
    """A whole number of 0..10 behind the first **Score**:, or as `parse_grade` finds it."""
    found = _SCORE.search(reply)
    if found is None:
        return parse_grade(reply, 0.0, TOP)
    score = float(found[1])
    return ParsedVerdict({GRADE: score}) if score <= TOP else None
