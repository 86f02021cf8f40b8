"""Similarity of an open reply to the gold answer, by a judge, 1 to 5 (MMBench, Table 7).

With `--judge MODEL` each open reply gets an integer from 1 (completely wrong) to 5 (completely
right), and `similarity` is their mean. An empty reply is worth 1.

Where the user has named no metric, as for a plain table, the grade is the score, and a verdict that
cannot be parsed leaves the sample ungraded. Else the score stays that of the metric, and such a
verdict leaves the sample out of `similarity` alone, which a notice counts.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from msgspec import structs

from snellen.benchmarks.protocol.judged_flows import BY_RULES, states_verdict
from snellen.benchmarks.protocol.judging import JudgePanel, PanelVerdicts, ask_judges, judge_values
from snellen.core.benchmark import Benchmark
from snellen.core.output import Generated
from snellen.core.record import Flow, Record
from snellen.core.request import Ref
from snellen.core.sample import Sample
from snellen.core.summary import Interval, Metric, Summary
from snellen.extract.unanswered import non_answer
from snellen.extract.verdicts import parse_grade
from snellen.prompts.derived_images import rename_placeholders

RUBRIC = "similarity"
SIMILARITY = "similarity"
LOW, HIGH = 1, 5
SCORED_BY = "scored_by"
"""Parameter: `judge` where the judges' grades are the score of open questions."""
_OR = " or "


def compares_open_answers(benchmark: Benchmark) -> bool:
    """Whether its judges grade open questions alone, of which the data may have none."""
    return f"rubric_{RUBRIC}" in benchmark.parameters


def flow_with_similarity(
    flow: Callable[[Sample], Flow], panel: JudgePanel, *, judges_score: bool
) -> Callable[[Sample], Flow]:
    """The flow, after which judges compare each open reply with the gold answer. With
    `judges_score` their grade is the score, and that of the rule the value `by_rules`."""

    def compare_reply(sample: Sample) -> Flow:
        record: Record = yield from flow(sample)
        output = record.passes[0].output if record.passes else None
        if record.kind != "open" or record.score is None or not isinstance(output, Generated):
            return record
        if non_answer(output) is not None:
            values = {**record.values, SIMILARITY: 0.0}
            if judges_score:
                values[BY_RULES] = record.score
            return structs.replace(record, values=values, score=0.0 if judges_score else record.score)
        fields = {
            # A judge that takes pictures reads a placeholder as one that it was not given.
            "question": rename_placeholders(sample, ()).question,
            "gold": _OR.join(dict.fromkeys(sample.gold)),
            "reply": output.text.strip(),
        }
        read = partial(parse_grade, low=float(LOW), high=float(HIGH), integers_only=True)
        verdicts = yield from ask_judges(
            panel, RUBRIC, fields, read, Ref(sample.id), about=output.text, step=SIMILARITY
        )
        return _add_verdicts(record, verdicts, judges_score)

    return compare_reply


def _add_verdicts(record: Record, verdicts: PanelVerdicts, judges_score: bool) -> Record:
    """Add the judges' verdicts to a record: a failed judge fails the sample; an unparsed verdict
    leaves the similarity out, and the score where judges give it."""
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
        if judges_score:
            return structs.replace(record, passes=passes, score=None, unscored="ungraded")
        return structs.replace(record, passes=passes)
    similarity = _to_fraction(grade)
    values = {**record.values, SIMILARITY: similarity}
    values |= dict(judge_values(verdicts, _to_fraction))
    if not judges_score:
        return structs.replace(record, passes=passes, values=values)
    values[BY_RULES] = record.score or 0.0
    return structs.replace(record, passes=passes, values=values, score=similarity)


def _to_fraction(grade: float) -> float:
    """A grade of 1..5 as 0..1, like all values of records."""
    return (grade - LOW) / (HIGH - LOW)


def summarise_with_similarity(summarise: Callable[[Sequence[Record]], Summary], records: Sequence[Record]) -> Summary:
    """The summary, with the mean similarity in points from 1 to 5, what the rules alone would
    have scored where judges score, and a notice of verdicts that left no trace in the score."""
    summary = summarise(records)
    unread = sum(_is_unread(record) for record in records)
    if unread:
        notice = f"{unread} of {len(records)} samples have no verdict that can be read and are left out of {SIMILARITY}"
        summary = structs.replace(summary, notices=(*summary.notices, notice))
    similarity = summary.metrics.get(SIMILARITY)
    if similarity is None or similarity.value is None:
        return summary
    metrics = {**summary.metrics, SIMILARITY: _to_points(similarity)}
    beside = [name for name in (SIMILARITY, BY_RULES) if name in metrics]
    return structs.replace(summary, metrics=metrics, beside=(*summary.beside, *beside))


def _is_unread(record: Record) -> bool:
    """Whether judges were asked about a scored reply, and none of their verdicts can be read."""
    if record.kind != "open" or record.score is None or SIMILARITY in record.values:
        return False
    return any(each_pass.verdicts for each_pass in record.passes)


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
        else Interval(to_scale(interval.low), to_scale(interval.high), interval.method, interval.level),
        unit="points",
        top=float(HIGH),
    )
