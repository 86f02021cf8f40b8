"""What a judge is asked about a field of MEGA-Bench, and what its words say.

The criteria are those of the task, which the data hold (`gpt4o_eval_configs`): a template whose
names stand for the reply, the question, the gold answer or what the row says of its evaluation.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from snellen.benchmarks.open_answers.mega_bench.grading.task import FieldTask, TaskError
from snellen.extract.verdicts import GRADE, ParsedVerdict, parse_grade

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
