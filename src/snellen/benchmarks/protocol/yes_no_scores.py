"""Judges that say whether an answer is right and how well it matches the gold one, 0 to 5.

The protocol of Video-ChatGPT (Maaz et al. 2023, https://arxiv.org/abs/2306.05424). The judge writes
an object with `pred` ("yes" or "no") and `score`. The share of yes is the headline, the mean score
a metric beside it. Captions are graded by questions about the video: a judge answers each from the
caption alone, and the answer is compared with the gold one (VDC, Chai et al. 2024,
https://arxiv.org/abs/2410.03051).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean
from typing import NamedTuple

from msgspec import structs

from snellen.benchmarks.protocol.judged_flows import ask_for_reply, build_record, ungraded_record
from snellen.benchmarks.protocol.judging import JudgePanel, PanelVerdicts, ask_judges, judge_values
from snellen.benchmarks.protocol.point_grading import to_points
from snellen.core.literals import parse_json_or_literal
from snellen.core.output import ParsedAnswer
from snellen.core.record import Flow, Pass, Record, Steps
from snellen.core.request import Generation, Message, Ref
from snellen.core.sample import Sample
from snellen.core.summary import Metric, Summary, SummaryContext
from snellen.extract.clean import without_thinking
from snellen.extract.verdicts import GRADE, ParsedVerdict, parse_object, parse_text
from snellen.scoring.accuracy import cluster_samples, mean_metric

SCORE = "score"
"""Value of a record: the judge's score over 5. Metric: its mean, 0 to 5."""
TOP = 5.0
ANSWER_RUBRIC = "caption-answer"
_PRED = "pred"
_PRED_GRADES = {"yes": 1.0, "no": 0.0}
_ANSWERING = "answer"
_WHOLE = "whole reply"


class QuestionPair(NamedTuple):
    """A question about a video and its answer, by which a caption is graded."""

    question: str
    answer: str


class _GradedPairs(NamedTuple):
    """What was asked of the judges, and what they said of each pair: right or wrong, and how well
    it matches, both 0..1; fewer than the pairs if one has no verdict."""

    asked: PanelVerdicts
    grades: Sequence[float]
    scores: Sequence[float]


@dataclass(frozen=True, slots=True, kw_only=True)
class MatchProtocol:
    """How the replies of a benchmark are asked for and compared."""

    rubric: str
    build_messages: Callable[[Sample], tuple[Message, ...]]
    by_questions: bool = False
    """Whether replies are captions, graded by the questions in the sample's gold."""

    @property
    def rubrics(self) -> tuple[str, ...]:
        """All rubrics that its judges are asked with."""
        return (ANSWER_RUBRIC, self.rubric) if self.by_questions else (self.rubric,)

    def flow(self, settings: Generation, panel: JudgePanel, options: Mapping[str, str]) -> Callable[[Sample], Flow]:
        """The flow of a benchmark's samples: a `FlowFactory`."""

        def flow(sample: Sample) -> Flow:
            """Ask the model, then the judges. A reply without an answer scores 0 without a
            judge; one of whose verdicts cannot be read is ungraded."""
            messages = self.build_messages(sample)
            output = yield from ask_for_reply(sample, messages, settings, {SCORE: 0.0})
            if isinstance(output, Record):
                return output
            text = without_thinking(output.text).strip()
            answer = ParsedAnswer(text, _WHOLE)
            if not sample.gold:
                return build_record(sample, (Pass(messages, output, answer, sample.gold),))
            pairs = (
                decode_pairs(sample.gold[0]) if self.by_questions else (QuestionPair(sample.question, sample.gold[0]),)
            )
            asked, grades, scores = yield from self._grade_pairs(panel, pairs, text, sample.id)
            result = Pass(messages, output, answer, sample.gold, verdicts=asked.verdicts)
            if not pairs or len(grades) < len(pairs):
                return ungraded_record(sample, (result,), asked)
            agreement = {} if self.by_questions else judge_values(asked, lambda grade: grade)
            return build_record(
                sample, (result,), score=fmean(grades), values={SCORE: fmean(scores), **dict(agreement)}
            )

        return flow

    def _grade_pairs(
        self, panel: JudgePanel, pairs: Sequence[QuestionPair], text: str, name: str
    ) -> Steps[_GradedPairs]:
        """Have the judges compare the reply, or an answer that a judge gives from the caption, with
        each gold answer. Ends where a verdict cannot be read."""
        asked = PanelVerdicts(())
        grades: list[float] = []
        scores: list[float] = []
        for pair in pairs:
            reply = text
            if self.by_questions:
                answering = yield from self._answer(panel, pair.question, text, name)
                asked = PanelVerdicts((*asked.verdicts, *answering.verdicts))
                reply = next((one.text or "" for one in answering.readable), "")
                if not reply:
                    break
            fields = {"question": pair.question, "gold": pair.answer, "reply": reply}
            verdicts = yield from ask_judges(panel, self.rubric, fields, parse_yes_no_score, Ref(name), about=reply)
            asked = PanelVerdicts((*asked.verdicts, *verdicts.verdicts))
            grade, score = verdicts.grade(), verdicts.grade(SCORE)
            if grade is None or score is None or verdicts.failure is not None:
                break
            grades.append(grade)
            scores.append(score / TOP)
        return _GradedPairs(asked, grades, scores)

    def _answer(self, panel: JudgePanel, question: str, caption: str, name: str) -> Steps[PanelVerdicts]:
        """Have the first judge answer a question from the caption alone."""
        first = replace(panel, roles=panel.roles[:1], votes=1, repeats=1)
        fields = {"question": question, "reply": caption}
        return (yield from ask_judges(first, ANSWER_RUBRIC, fields, parse_text, Ref(name), step=_ANSWERING))


def parse_yes_no_score(reply: str) -> ParsedVerdict | None:
    """An object with `pred`, yes or no, and `score`, a number from 0 to 5."""
    found = parse_object(reply)
    if found is None:
        return None
    grade = _PRED_GRADES.get(str(found.get(_PRED)).strip().lower())
    try:
        score = float(str(found.get(SCORE)))
    except ValueError:
        return None
    if grade is None or not 0 <= score <= TOP:
        return None
    return ParsedVerdict({GRADE: grade, SCORE: score})


def decode_pairs(text: str) -> tuple[QuestionPair, ...]:
    """The questions of a cell, a list of objects with `question` and `answer` as JSON or Python
    writes it; empty if it is none."""
    try:
        items = parse_json_or_literal(text)
    except ValueError:
        return ()
    if not isinstance(items, list) or not all(isinstance(item, dict) for item in items):
        return ()
    return tuple(QuestionPair(str(item.get("question", "")), str(item.get("answer", ""))) for item in items)


def encode_pairs(pairs: Sequence[QuestionPair]) -> str:
    """The questions as JSON."""
    return json.dumps([pair._asdict() for pair in pairs], ensure_ascii=False)


def summarise_matches(context: SummaryContext, records: Sequence[Record]) -> Summary:
    """The share of yes, beside it the mean score in points, overall and by group."""
    summary = context.plain(records)
    score = summary.metrics.get(SCORE)
    if score is None or summary.headline.value is None:
        return summary
    groups = dict(summary.groups)
    for column, labels in summary.groups.items():
        groups[f"{column} {SCORE}"] = {
            label: _mean_score([one for one in records if one.groups.get(column) == label]) for label in labels
        }
    return structs.replace(
        summary,
        metrics={**summary.metrics, SCORE: to_points(score, TOP)},
        groups=groups,
        beside=(*summary.beside, SCORE),
    )


def _mean_score(records: Sequence[Record]) -> Metric:
    graded = [record for record in records if SCORE in record.values]
    values = [record.values[SCORE] for record in graded]
    return to_points(mean_metric(SCORE, values, cluster_samples(graded)), TOP)
