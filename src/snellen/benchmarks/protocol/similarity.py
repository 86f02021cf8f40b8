"""Similarity of an open reply to the gold answer, by a judge, 1 to 5 (MMBench, Table 7).

With `--judge MODEL` each open reply also gets an integer from 1 (completely wrong) to 5 (completely
right), and `similarity` is their mean. The score itself stays that of the rule. An empty reply is
worth 1; a verdict that cannot be parsed leaves the sample out of `similarity` alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from msgspec import structs

from snellen.benchmarks.protocol.judged_flows import states_verdict
from snellen.benchmarks.protocol.judging import (
    JudgePanel,
    PanelVerdicts,
    ask_judges,
    judge_values,
)
from snellen.core.benchmark import Benchmark
from snellen.core.flow import Flow
from snellen.core.output import Generated
from snellen.core.record import Record
from snellen.core.request import Ref
from snellen.core.sample import Sample
from snellen.core.summary import Interval, Metric, Summary
from snellen.extract.unanswered import non_answer
from snellen.extract.verdicts import parse_grade

RUBRIC = "similarity"
SIMILARITY = "similarity"
LOW, HIGH = 1, 5
_OR = " or "


def compares_open_answers(benchmark: Benchmark) -> bool:
    """Whether its judges grade open questions alone, of which the data may have none."""
    return f"rubric_{RUBRIC}" in benchmark.parameters


def flow_with_similarity(
    flow: Callable[[Sample], Flow], panel: JudgePanel
) -> Callable[[Sample], Flow]:
    """The flow, after which judges compare each open reply with the gold answer."""

    def compare_reply(sample: Sample) -> Flow:
        record: Record = yield from flow(sample)
        output = record.passes[0].output if record.passes else None
        if record.kind != "open" or record.score is None or not isinstance(output, Generated):
            return record
        if non_answer(output) is not None:
            return structs.replace(record, values={**record.values, SIMILARITY: 0.0})
        fields = {
            "question": sample.question,
            "gold": _OR.join(dict.fromkeys(sample.gold)),
            "reply": output.text.strip(),
        }
        read = partial(parse_grade, low=float(LOW), high=float(HIGH), integers_only=True)
        verdicts = yield from ask_judges(
            panel, RUBRIC, fields, read, Ref(sample.id), about=output.text, step=SIMILARITY
        )
        return _add_verdicts(record, verdicts)

    return compare_reply


def _add_verdicts(record: Record, verdicts: PanelVerdicts) -> Record:
    """Add the judges' verdicts to a record: a failed judge fails the sample, an unparsed verdict
    only leaves the similarity out."""
    first, *others = record.passes
    passes = (structs.replace(first, verdicts=(*first.verdicts, *verdicts.verdicts)), *others)
    record = structs.replace(record, holds_verdict=any(map(states_verdict, passes)))
    failure = verdicts.failure
    if failure is not None:
        missing = failure.kind == "missing"
        return structs.replace(
            record,
            passes=passes,
            score=None,
            values={},
            outcome="missing" if missing else "failed",
            unscored="missing" if missing else "failed",
            failure=failure.kind,
        )
    grade = verdicts.grade()
    if grade is None:
        return structs.replace(record, passes=passes)
    values = {SIMILARITY: _to_fraction(grade), **dict(judge_values(verdicts, _to_fraction))}
    return structs.replace(record, passes=passes, values={**record.values, **values})


def _to_fraction(grade: float) -> float:
    """A grade of 1..5 as 0..1, like all values of records."""
    return (grade - LOW) / (HIGH - LOW)


def summarise_with_similarity(
    summarise: Callable[[Sequence[Record]], Summary], records: Sequence[Record]
) -> Summary:
    """The summary, with the mean similarity in points from 1 to 5."""
    summary = summarise(records)
    similarity = summary.metrics.get(SIMILARITY)
    if similarity is None or similarity.value is None:
        return summary
    metrics = {**summary.metrics, SIMILARITY: _to_points(similarity)}
    return structs.replace(summary, metrics=metrics, beside=(*summary.beside, SIMILARITY))


def _to_points(metric: Metric) -> Metric:
    """The mean as 1..5, like the paper's."""

    def to_scale(percent: float) -> float:
        return LOW + (HIGH - LOW) * percent / 100

    interval = metric.interval
    return Metric(
        SIMILARITY,
        None if metric.value is None else to_scale(metric.value),
        metric.n,
        None
        if interval is None
        else Interval(
            to_scale(interval.low), to_scale(interval.high), interval.method, interval.level
        ),
        unit="points",
        top=float(HIGH),
    )
