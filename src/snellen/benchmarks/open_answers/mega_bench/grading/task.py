"""A question of MEGA-Bench with the metrics of its fields, and the score of a reply to it.

The answer of a row is an object of named fields; `metric_info` names a metric for each, and what
makes one score of them. A field without a metric does not count.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from snellen.benchmarks.open_answers.mega_bench.grading.literals import unquote
from snellen.benchmarks.open_answers.mega_bench.grading.metrics import (
    CONTEXT_METRICS,
    JUDGED,
    METRICS,
    NOT_SCORED,
    FieldScore,
    aggregate,
    score_field,
)
from snellen.benchmarks.open_answers.mega_bench.grading.replies import DUMMY, PARSERS, parse_reply
from snellen.core.literals import BROKEN_LITERAL, evaluate_literal


@dataclass(frozen=True)
class FieldTask:
    """What a reply is held against. `gold` and `context` are the row's; `metrics` has the names of
    the metrics by field, those over all fields included."""

    gold: Mapping[str, Any]
    metrics: Mapping[str, str]
    weights: Mapping[str, float]
    aggregation: str
    parser: str
    context: Mapping[str, Any] = field(default_factory=dict)
    judging: Mapping[str, Any] = field(default_factory=dict)
    """`gpt4o_eval_configs`: how a judge is asked about its fields."""

    @cached_property
    def not_scored(self) -> str:
        """The metric because of which a reply has no score; empty if it has one."""
        known = {*METRICS, *CONTEXT_METRICS, JUDGED}
        return next((name for name in self.metrics.values() if name not in known), "")

    @cached_property
    def judged_fields(self) -> tuple[str, ...]:
        """The fields that a judge scores."""
        return tuple(name for name, metric in self.metrics.items() if metric == JUDGED)

    def read(self, reply: str) -> Any:
        """The fields of a reply by name, or its text."""
        return parse_reply(reply, self.parser, self.gold)

    def value(self, fields: Any, name: str) -> Any:
        return fields.get(name) if isinstance(fields, dict) else fields

    def scores(self, fields: Any) -> dict[str, FieldScore]:
        """The scores of all fields that rules score. Raises MissingExtra."""
        return {
            name: score_field(metric, self.value(fields, name), unquote(self.gold.get(name)), self.context)
            for name, metric in self.metrics.items()
            if metric != JUDGED
        }

    def total(self, scores: Mapping[str, FieldScore]) -> float:
        """The score of the reply, 0..1, of those of its fields."""
        return aggregate(scores, self.weights, self.aggregation)


class TaskError(ValueError):
    """Cells that are no task of MEGA-Bench; the text says which, and what was expected."""


def read_task(answer: str, metric_info: str, eval_context: str) -> FieldTask:
    """The task of a row by its cells, which are Python literals. Raises TaskError."""
    gold, info = _object("answer", answer), _object("metric_info", metric_info)
    context = _object("eval_context", eval_context or "{}")
    functions = info.get("field_score_function")
    joined = info.get("aggregation")
    if not isinstance(functions, dict) or not isinstance(joined, dict) or not gold:
        raise TaskError(
            "`answer` or `metric_info` lacks something; expected an object of fields, and one with "
            "field_score_function, aggregation and response_parse_function"
        )
    metrics = {name: functions[name] for name in gold if functions.get(name)}
    metrics |= info.get("global_aux_metrics", {})
    parser = str(info.get("response_parse_function")).lower()
    if parser not in PARSERS:
        raise TaskError(f"`metric_info` names the parser {parser!r}; expected one of {', '.join(PARSERS)}")
    names = {name: str(metric).lower() for name, metric in metrics.items()}
    task = FieldTask(
        gold,
        names,
        joined.get("field_weights", {}),
        str(joined.get("function")).lower(),
        parser,
        context,
        info.get("gpt4o_eval_configs", {}),
    )
    if task.aggregation not in ("mean", "min"):
        raise TaskError(f"`metric_info` joins fields by {task.aggregation!r}; expected mean or min")
    missing = set(names) - set(task.weights) if task.aggregation == "mean" else set()
    if missing:
        raise TaskError(f"`metric_info` has no weight of the field {min(missing)!r}")
    if parser == DUMMY and not task.not_scored and len(task.judged_fields) < len(names):
        raise TaskError("`metric_info` scores fields by rules, and its parser dummy reads none")
    return task


def why_not_scored(metric: str) -> str:
    """The reason why a metric is not scored."""
    return NOT_SCORED.get(metric, "is not known")


def _object(column: str, text: str) -> dict[str, Any]:
    try:
        value = evaluate_literal(text)
    except BROKEN_LITERAL as error:
        raise TaskError(f"`{column}` cannot be read ({error}); expected an object as Python writes it") from error
    if not isinstance(value, dict):
        raise TaskError(f"`{column}` is no object; expected one as Python writes it")
    return value
