"""PHYSICS: problems of university physics (Feng et al. 2025, https://arxiv.org/abs/2503.21821).

One example row (made up): index 0, question "A ball falls 20 m. When and how fast does it land?",
answer "['2.0 \\\\text{ s}', '20 \\\\text{ m/s}']", category "mechanics", image <base64> or nothing.

Oddities: a question may have several answers, each in a box of its own. Its score is the share of
the reply's different boxes that are equal to any of the gold answers, so that an answer left out
costs nothing. `part=blank-pictures` has an empty picture where a question has none.

A box is equal to a gold answer as text, number or term (see `scoring.mathematics`), what stands
behind the last equals sign or arrow alone; judges, where there are any, are asked about the others,
in the words of VLMEvalKit. There, SymPy compares terms without their subscripts, and texts with
units go to the judge at once. Without a box the answer that a reply states is compared by rule
alone; in VLMEvalKit such a reply is wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from msgspec import structs

from snellen.benchmarks.declaration.declaration import Declaration
from snellen.benchmarks.declaration.judged import Judged, plain_messages
from snellen.benchmarks.declaration.published import Published, published_tsv
from snellen.benchmarks.protocol.judged_flows import BY_RULES, ask_model, build_record, ungraded_record
from snellen.benchmarks.protocol.judging import JudgePanel, PanelVerdicts, ask_judges
from snellen.core.output import Answer, Generated, ParsedAnswer, Unparsed
from snellen.core.record import Flow, Pass, Verdict
from snellen.core.request import Generation, Ref
from snellen.core.sample import Row, Sample
from snellen.extract.boxes import boxed_texts
from snellen.extract.open_text import WHOLE_REPLY, parse_open
from snellen.extract.unanswered import non_answer
from snellen.extract.verdicts import parse_correctness
from snellen.scoring import mathematics

RUBRIC = "physics"
PART = "part"
_HOME = "https://opencompass.openxlab.space/utils/benchmarks/physics"
_WHOLE = "http://opencompass.oss-cn-shanghai.aliyuncs.com/utils/VLMEval"
_SUBJECTS = {
    "atomic": "b927fae6bcc6163b0bd89041e4421c70",
    "electro": "66db62cdbc468bb003e6d09592b94b59",
    "mechanics": "11f287a18ccc6227bea15fa89f24de67",
    "optics": "39ab9028ae4a33c06f78ce8618668172",
    "quantum": "d2610f9938ad1e848259ccbcd5ac3acf",
    "statistics": "78242aa2431a477782b5b3de1c18d633",
}
_CLOSING = (
    "Solve the problem step by step. Put each final answer, also one in words, in a \\boxed{} of its own at the end."
)
_MAX_ANSWER_LENGTH = 80
"""Characters of a reply that may be taken whole for an answer."""
_BOXES = "boxes"
_SEPARATOR = "\n"
"""Between the boxes of one reply."""


def _ask_for_boxes(sample: Sample, row: Row) -> Sample:
    golds = tuple((boxed_texts(gold) or [gold])[-1] for gold in sample.gold)
    return structs.replace(sample, question=f"{sample.question}\n\n{_CLOSING}", gold=golds)


def _flow(settings: Generation, panel: JudgePanel, options: Mapping[str, str]) -> Callable[[Sample], Flow]:
    def flow(sample: Sample) -> Flow:
        """Ask; compare each box of the reply with the gold answers, by rule and then by judges."""
        messages = plain_messages(sample)
        output = yield from ask_model(sample, messages, settings)
        result = Pass(messages, output, gold=sample.gold)
        if not isinstance(output, Generated):
            return build_record(sample, (result,))
        read = _read_answers(output)
        if not isinstance(read, tuple):
            result = structs.replace(result, answer=read, correct=False)
            return build_record(sample, (result,), score=0.0 if sample.gold else None)
        answers, rule = read
        result = structs.replace(result, answer=ParsedAnswer(_SEPARATOR.join(answers), rule))
        if not sample.gold:
            return build_record(sample, (result,))
        rights: list[float] = []
        by_rules: list[float] = []
        verdicts: list[Verdict] = []
        for answer in answers:
            same = float(any(is_same(answer, gold) for gold in sample.gold))
            by_rules.append(same)
            for gold in sample.gold if panel and rule == _BOXES and not same else ():
                compared = yield from ask_judges(
                    panel,
                    RUBRIC,
                    {"answer": answer, "gold": gold},
                    parse_correctness,
                    Ref(sample.id),
                    step="comparison",
                )
                verdicts += compared.verdicts
                if compared.failure is not None or not compared.readable:
                    result = structs.replace(result, verdicts=tuple(verdicts))
                    return ungraded_record(sample, (result,), PanelVerdicts(tuple(verdicts)))
                same = max(same, compared.grade() or 0.0)
                if same == 1.0:
                    break
            rights.append(same)
        score = sum(rights) / len(rights)
        result = structs.replace(result, verdicts=tuple(verdicts), correct=score == 1.0)
        values = {BY_RULES: sum(by_rules) / len(by_rules)} if panel else {}
        return build_record(sample, (result,), score=score, values=values)

    return flow


def _read_answers(output: Generated) -> tuple[tuple[str, ...], str] | Answer:
    """The different answers of a reply and the rule that found them; else what the reply is."""
    refused = non_answer(output)
    if refused is not None:
        return refused
    boxes = tuple(dict.fromkeys(boxed_texts(output.text)))
    if boxes:
        return boxes, _BOXES
    answer = parse_open(output.text, stop_reason=output.stop_reason)
    if not isinstance(answer, ParsedAnswer):
        return answer
    if answer.rule == WHOLE_REPLY and len(answer.value) > _MAX_ANSWER_LENGTH:
        return Unparsed()
    return (answer.value,), answer.rule


def is_same(answer: str, gold: str) -> bool:
    """Whether two expressions are equal, or what stands behind their last equals signs or arrows
    is."""
    sides = _right_hand_side(answer), _right_hand_side(gold)
    if mathematics.equal(answer, gold):
        return True
    # Terms are costly to compare.
    return sides != (answer, gold) and mathematics.equal(*sides)


def _right_hand_side(term: str) -> str:
    return term.rpartition("\\implies")[2].rpartition("=")[2].strip()


BENCHMARK = Declaration(
    name="physics",
    version="1",
    title="PHYSICS, problems of university physics",
    paper="https://arxiv.org/abs/2503.21821",
    provenance="PHYSICS of its authors, as VLMEvalKit's TSV files",
    data=Published(
        {PART: ("all", "blank-pictures", *_SUBJECTS)},
        {
            ("all",): published_tsv(f"{_WHOLE}/Physics.tsv", "c27c6228fca6a2e8b450fc5da7279ea2"),
            ("blank-pictures",): published_tsv(f"{_WHOLE}/Physics_blankim.tsv", "b4136f27f09339698f636111c07824e9"),
            **{(name,): published_tsv(f"{_HOME}/{name}_dataset.tsv", md5) for name, md5 in _SUBJECTS.items()},
        },
    ),
    aliases={"Physics_blankim": {PART: "blank-pictures"}, **{f"{name}_dataset": {PART: name} for name in _SUBJECTS}},
    kind="open",
    group_by=("category",),
    adjust=_ask_for_boxes,
    max_new_tokens=4096,
    scoring=Judged(flow=_flow, rubrics=(RUBRIC,)),
    check=mathematics.require_math_verify,
)
