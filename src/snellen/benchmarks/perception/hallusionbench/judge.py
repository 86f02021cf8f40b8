"""HallusionBench as its authors grade it (`--rule official`): a judge compares every reply with the
reference answer, which says why ("gt_answer_details", where the data have it).

A verdict that holds "incorrect" is wrong, else one that holds "correct" is right. "unclear" is
wrong, but right where there is no figure to see, in the questions VS about figure 0. The authors
take every other verdict for unclear; here it is none, and the sample is ungraded.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from msgspec import structs

from snellen.benchmarks.protocol.judged_flows import ask_model, build_record, ungraded_record
from snellen.benchmarks.protocol.judging import JudgePanel, ask_judges, judge_values
from snellen.core.flow import Flow
from snellen.core.output import Generated, ParsedAnswer
from snellen.core.record import Pass
from snellen.core.request import Generation, Ref
from snellen.core.sample import Row, Sample
from snellen.extract.clean import without_thinking
from snellen.extract.unanswered import model_text, non_answer
from snellen.extract.verdicts import GRADE, ParsedVerdict
from snellen.prompts.choice import PromptTemplate, prompt

RUBRIC = "hallusionbench"
DETAILS = "gt_answer_details"
JUDGE_TOKENS = 64
_VERDICTS = ("incorrect", "unclear", "correct")
"""In the order in which they are looked for: the last stands inside the first."""


def add_details(sample: Sample, row: Row) -> Sample:
    """Make the full reference answer the gold, if the row has one."""
    details = row.cells.get(DETAILS, "").strip()
    return structs.replace(sample, gold=(details,)) if details else sample


def judge_flow(settings: Generation, panel: JudgePanel, template: PromptTemplate) -> Callable[[Sample], Flow]:
    """Ask, then have the reply compared with the reference. Without judges it is ungraded."""

    def flow(sample: Sample) -> Flow:
        """Ask the model, then judges whether its reply agrees with the gold answer."""
        messages = prompt(sample, template=template)
        output = yield from ask_model(sample, messages, settings)
        if not isinstance(output, Generated):
            return build_record(sample, (Pass(messages, output, gold=sample.gold),))
        fields = {
            "question": sample.question,
            "gold": sample.gold[0] if sample.gold else "",
            "reply": model_text(output),
        }
        read = partial(parse_agreement, unclear=float(_may_be_unclear(sample)))
        verdicts = yield from ask_judges(panel, RUBRIC, fields, read, Ref(sample.id))
        no_answer = non_answer(output)
        answer = no_answer or ParsedAnswer(output.text.strip(), "whole reply")
        result = Pass(messages, output, answer, sample.gold, verdicts=verdicts.verdicts)
        grade = verdicts.grade()
        if not sample.gold:
            return build_record(sample, (result,))
        if grade is None or verdicts.failure is not None:
            return ungraded_record(sample, (result,), verdicts)
        result = structs.replace(result, correct=grade > 0.5)
        return build_record(sample, (result,), score=grade, values=dict(judge_values(verdicts, float)))

    return flow


def parse_agreement(reply: str, unclear: float) -> ParsedVerdict | None:
    """1 for correct, 0 for incorrect, `unclear` for unclear; None without any of these words."""
    text = without_thinking(reply).lower()
    verdict = next((word for word in _VERDICTS if word in text), None)
    if verdict is None:
        return None
    return ParsedVerdict({GRADE: {"correct": 1.0, "incorrect": 0.0, "unclear": unclear}[verdict]}, verdict)


def _may_be_unclear(sample: Sample) -> bool:
    *_, figure, _ = sample.unit.split("/")
    return sample.groups.get("category") == "VS" and figure == "0"
