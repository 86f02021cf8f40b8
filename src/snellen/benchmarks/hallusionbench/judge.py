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

from snellen.benchmarks.protocol.judged_flows import asked, record_of, ungraded
from snellen.benchmarks.protocol.judging import Panel, judged, spread_of
from snellen.core.answer import Found
from snellen.core.flow import Flow
from snellen.core.output import Generated
from snellen.core.record import Pass
from snellen.core.request import Generation, Ref
from snellen.core.sample import Row, Sample
from snellen.extract.clean import without_thought
from snellen.extract.unanswered import own_words, unanswered
from snellen.extract.verdicts import GRADE, Reading
from snellen.prompts.choice import Wording, prompt

RUBRIC = "hallusionbench"
DETAILS = "gt_answer_details"
JUDGE_TOKENS = 64
_WORDS = ("incorrect", "unclear", "correct")
"""In the order in which they are looked for: the last stands inside the first."""


def with_details(sample: Sample, row: Row) -> Sample:
    """The sample whose gold is the whole reference answer, where the row has one."""
    told = row.cells.get(DETAILS, "").strip()
    return structs.replace(sample, gold=(told,)) if told else sample


def graded_by_judge(
    settings: Generation, panel: Panel, wording: Wording
) -> Callable[[Sample], Flow]:
    """Ask, then have the reply compared with the reference. Without judges it is ungraded."""

    def flow(sample: Sample) -> Flow:
        shown = prompt(sample, wording=wording)
        output = yield from asked(sample, shown, settings)
        if not isinstance(output, Generated):
            return record_of(sample, (Pass(shown, output, gold=sample.gold),))
        fields = {
            "question": sample.question,
            "gold": sample.gold[0] if sample.gold else "",
            "reply": own_words(output),
        }
        read = partial(read_agreement, unclear=float(_may_be_unclear(sample)))
        found = yield from judged(panel, RUBRIC, fields, read, Ref(sample.id))
        nothing = unanswered(output)
        answer = nothing or Found(output.text.strip(), "whole reply")
        one = Pass(shown, output, answer, sample.gold, verdicts=found.verdicts)
        grade = found.grade()
        if not sample.gold:
            return record_of(sample, (one,))
        if grade is None or found.failure is not None:
            return ungraded(sample, (one,), found)
        one = structs.replace(one, correct=grade > 0.5)
        return record_of(sample, (one,), score=grade, values=dict(spread_of(found, float)))

    return flow


def read_agreement(reply: str, unclear: float) -> Reading | None:
    """1 for correct, 0 for incorrect, and `unclear` for that; None where no such word stands."""
    text = without_thought(reply).lower()
    said = next((word for word in _WORDS if word in text), None)
    if said is None:
        return None
    return Reading({GRADE: {"correct": 1.0, "incorrect": 0.0, "unclear": unclear}[said]}, said)


def _may_be_unclear(sample: Sample) -> bool:
    *_, figure, _ = sample.unit.split("/")
    return sample.groups.get("category") == "VS" and figure == "0"
