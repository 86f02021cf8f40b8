"""MM-IFEval: following instructions with several constraints (Ding et al. 2025,
https://arxiv.org/abs/2504.07957).

One example row: index 0, id "12", infer_type "main", tag "C-Level", question "Write ... in two
paragraphs ...", constraints '[{"key": "paragraphs", "value": "Two paragraphs.", "judge": {"method":
"rule_based", "verify_funcs": [{"func": "check_whether_...", "params": [2, 2]}]}}]', image <base64>.

Oddities: 300 questions hold constraints on the reply (C-Level), 100 have a list of answers about
the picture (P-Level). For constraints that a judge can only tell by a comparison, rows of the same
id ask the question without the constraint (infer_type "aux_cmp_gpt", del_cons); they are asked with
their question and are none of their own.

A C-Level reply earns the share of its constraints that it keeps to: checked by rules, by one judge
that sees the picture, or by one that compares the reply with that to the question without the
constraint. A P-Level reply is right if a judge finds every answer in it. The prompts are the
authors'. The headline is the mean over all questions. Sentences are split by a rule of Snellen's,
not by NLTK's model. A verdict that cannot be read, or an unknown check, leaves the reply ungraded;
in VLMEvalKit the constraint is left out (comparisons) or the reply earns 0, and a check by rules
ends the evaluation, because its functions are no longer imported there. There is no score without
a judge.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from statistics import fmean
from typing import NamedTuple

from msgspec import structs

from snellen.benchmarks.declaration.declaration import Declaration
from snellen.benchmarks.declaration.judged import Judged
from snellen.benchmarks.declaration.published import single_tsv
from snellen.benchmarks.open_answers.mm_ifeval.rows import (
    ANSWERS,
    COMPARED,
    JUDGED,
    LEVEL,
    RULES,
    ConstrainedTask,
    Constraint,
    ifeval_samples,
    task_of,
)
from snellen.benchmarks.open_answers.mm_ifeval.text_constraints import keeps_constraint
from snellen.benchmarks.protocol.judged_flows import build_record, ungraded_record
from snellen.benchmarks.protocol.judging import JudgePanel, PanelVerdicts, ask_judges
from snellen.core.output import Generated, Output, ParsedAnswer
from snellen.core.record import Flow, Pass, Record, Steps, Verdict
from snellen.core.request import Generate, Generation, Media, Message, Ref, Text, user
from snellen.core.sample import Sample
from snellen.extract.clean import without_thinking
from snellen.extract.unanswered import non_answer
from snellen.extract.verdicts import GRADE, ParsedVerdict, parse_correctness

_SCORE = re.compile(r"score\s+of\s+(constraint_\d+):\s*(\d{1,9})\s*/\s*(\d{1,9})(?!\d)", re.IGNORECASE)
_SUMMARY = "summary"
_TRUTH = re.compile(r"\b(true|false)\b", re.IGNORECASE)


def constraint_name(number: int) -> str:
    """What a constraint is called in the prompt and in a verdict; the first has the number 1."""
    return f"constraint_{number}"


def parse_constraints(reply: str, names: Sequence[str]) -> ParsedVerdict | None:
    """A grade in 0..1 for each of these constraints: `Score of constraint_1: 1/1, ...`.

    Of several scores for one the last counts. None if one is missing or above 1.
    """
    text = re.sub(r"\s+", " ", without_thinking(reply)).replace("*", "")
    grades: dict[str, float] = {}
    for name, points, top in _SCORE.findall(text):
        if int(top) == 0:
            return None
        grades[name.lower()] = int(points) / int(top)
    wanted = {name: grades.get(name) for name in names}
    known = {name: grade for name, grade in wanted.items() if grade is not None and grade <= 1}
    return ParsedVerdict(known) if len(known) == len(names) else None


def parse_comparison(reply: str) -> ParsedVerdict | None:
    """1 for true and 0 for false, the first of them behind the last word "summary"; without that
    word as other verdicts that are right or wrong."""
    text = without_thinking(reply)
    _, mark, summary = text.lower().rpartition(_SUMMARY)
    if not mark:
        return parse_correctness(reply)
    match = _TRUTH.search(summary)
    return None if match is None else ParsedVerdict({GRADE: float(match[1] == "true")})


ANSWER_RUBRIC = "mm-ifeval-answer"
CONSTRAINTS_RUBRIC = "mm-ifeval-constraints"
COMPARISON_RUBRIC = "mm-ifeval-comparison"


class _Graded(NamedTuple):
    """What is known of a reply: the grade of each constraint by its key, and by whose word."""

    grades: Mapping[str, float | None]
    """None where a verdict could not be read, or a check is not known."""
    passes: tuple[Pass, ...] = ()
    """Of the question without a constraint, where it was asked."""
    verdicts: tuple[Verdict, ...] = ()


def _messages(sample: Sample, question: str) -> tuple[Message, ...]:
    """The question, then its picture."""
    return (user(Text(question), *(Media(ref.kind, ref.digest) for ref in sample.media)),)


def _ask(sample: Sample, settings: Generation, question: str, turn: int = 0, row: str | None = None) -> Steps[Output]:
    return (
        yield Generate(
            messages=_messages(sample, question),
            ref=Ref(sample.id, turn, row),
            settings=settings,
            media=sample.sources(),
        )
    )


def _flow(settings: Generation, panel: JudgePanel, options: Mapping[str, str]) -> Callable[[Sample], Flow]:
    """Ask the question, then whatever is needed to tell which constraints the reply keeps to."""

    def flow(sample: Sample) -> Flow:
        messages = _messages(sample, sample.question)
        output = yield from _ask(sample, settings, sample.question)
        if not isinstance(output, Generated):
            return build_record(sample, (Pass(messages, output, gold=sample.gold),))
        no_answer = non_answer(output)
        answer = no_answer or ParsedAnswer(output.text.strip(), "whole reply")
        result = Pass(messages, output, answer, sample.gold)
        if no_answer is not None:
            return build_record(sample, (result,), score=0.0)
        if not panel:
            return ungraded_record(sample, (result,), PanelVerdicts(()))
        if sample.groups.get(LEVEL) == ANSWERS:
            graded = yield from _grade_answers(sample, output.text, panel)
        else:
            graded = yield from _grade_constraints(sample, output.text, panel, settings)
        return _record(sample, result, graded)

    return flow


def _grade_answers(sample: Sample, reply: str, panel: JudgePanel) -> Steps[_Graded]:
    fields = {"question": sample.question, "reply": reply, "gold": "".join(sample.gold)}
    ref = Ref(sample.id)
    verdicts = yield from ask_judges(panel, ANSWER_RUBRIC, fields, parse_correctness, ref, about=reply)
    return _Graded({ANSWERS: verdicts.grade()}, verdicts=verdicts.verdicts)


def _grade_constraints(sample: Sample, reply: str, panel: JudgePanel, settings: Generation) -> Steps[_Graded]:
    """The grades of all constraints; ends early where a judge or the model does not answer."""
    task = task_of(sample)
    graded = _Graded(
        {
            constraint.key: _grade_by_rules(constraint, reply)
            for constraint in task.constraints
            if constraint.judge.method == RULES
        }
    )
    judged = [one for one in task.constraints if one.judge.method == JUDGED]
    if judged:
        graded = yield from _judge_together(sample, reply, panel, judged, graded)
    compared = [one for one in task.constraints if one.judge.method == COMPARED]
    for turn, constraint in enumerate(compared, start=1):
        if PanelVerdicts(graded.verdicts).failure is not None:
            return graded
        graded = yield from _compare(sample, reply, panel, settings, constraint, turn, graded)
        if graded.passes and not isinstance(graded.passes[-1].output, Generated):
            return graded
    return graded


def _grade_by_rules(constraint: Constraint, reply: str) -> float | None:
    """1 if the reply passes every check of the constraint; None if one is not known."""
    found = [keeps_constraint(reply, call.func, call.params) for call in constraint.judge.verify_funcs]
    return None if None in found else float(all(found))


def _judge_together(
    sample: Sample, reply: str, panel: JudgePanel, constraints: list[Constraint], graded: _Graded
) -> Steps[_Graded]:
    """The grades of constraints that a judge is asked about all at once."""
    names = [constraint_name(number) for number in range(1, len(constraints) + 1)]
    listed = [f"Constraint_{number}: {constraint.value}" for number, constraint in enumerate(constraints, start=1)]
    verdicts = yield from ask_judges(
        panel,
        CONSTRAINTS_RUBRIC,
        {"reply": reply, "constraints": "\n".join(listed)},
        lambda text: parse_constraints(text, names),
        Ref(sample.id),
        about=reply,
        media=sample.media,
    )
    grades = {constraint.key: verdicts.grade(name) for constraint, name in zip(constraints, names, strict=True)}
    return graded._replace(grades={**graded.grades, **grades}, verdicts=verdicts.verdicts)


def _compare(
    sample: Sample,
    reply: str,
    panel: JudgePanel,
    settings: Generation,
    constraint: Constraint,
    turn: int,
    graded: _Graded,
) -> Steps[_Graded]:
    """The grade of a constraint by the reply to the question without it."""
    plain = task_of(sample).without[constraint.key]
    output = yield from _ask(sample, settings, plain.question, turn, plain.row)
    without = Pass(_messages(sample, plain.question), output, row=plain.row)
    if isinstance(output, Generated):
        answer = non_answer(output) or ParsedAnswer(output.text.strip(), "whole reply")
        without = structs.replace(without, answer=answer)
    graded = graded._replace(passes=(*graded.passes, without))
    if not isinstance(output, Generated):
        return graded
    fields = {"constraint": constraint.value, "reply": reply, "reply_without": output.text}
    verdicts = yield from ask_judges(
        panel, COMPARISON_RUBRIC, fields, parse_comparison, Ref(sample.id, turn), about=reply
    )
    return graded._replace(
        grades={**graded.grades, constraint.key: verdicts.grade()}, verdicts=(*graded.verdicts, *verdicts.verdicts)
    )


def _record(sample: Sample, result: Pass, graded: _Graded) -> Record:
    result = structs.replace(result, verdicts=graded.verdicts)
    passes = (result, *graded.passes)
    failed = [one.output for one in graded.passes if not isinstance(one.output, Generated)]
    if failed:
        return build_record(sample, passes, failure_of=failed[0])
    verdicts = PanelVerdicts(graded.verdicts)
    grades = {key: grade for key, grade in graded.grades.items() if grade is not None}
    if verdicts.failure is not None or len(grades) < len(graded.grades) or not grades:
        return ungraded_record(sample, passes, verdicts)
    values = _grades_by_method(task_of(sample), grades)
    return build_record(sample, passes, score=fmean(grades.values()), values=values)


def _grades_by_method(task: ConstrainedTask, grades: Mapping[str, float]) -> dict[str, float]:
    """The mean grade of the constraints of each method."""
    by_method: dict[str, list[float]] = defaultdict(list)
    for constraint in task.constraints:
        by_method[constraint.judge.method].append(grades[constraint.key])
    return {method: fmean(of_method) for method, of_method in by_method.items()}


BENCHMARK = Declaration(
    name="mm-ifeval",
    version="1",
    title="MM-IFEval, following instructions with several constraints",
    paper="https://arxiv.org/abs/2504.07957",
    provenance="MM-IFEval of its authors, as VLMEvalKit's TSV",
    data=single_tsv(
        "https://opencompass.openxlab.space/utils/VLMEval/MM-IFEval.tsv", "973bb839961a449565073a5ee70ae7a6"
    ),
    aliases={"MM-IFEval": {}},
    samples=ifeval_samples,
    max_new_tokens=4096,
    scoring=Judged(
        flow=_flow,
        rubrics=(ANSWER_RUBRIC, CONSTRAINTS_RUBRIC, COMPARISON_RUBRIC),
        must_judge=True,
        max_judge_tokens=4096,
    ),
)
