"""How one sample is asked: once, or circularly."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Literal, NamedTuple

import msgspec

from snellen.core.answer import Answer, Found, Outcome, Unparsed, outcome_of
from snellen.core.flow import Flow, Steps
from snellen.core.media import Source
from snellen.core.message import LateMessages, Message
from snellen.core.output import Failure, Generated, Output
from snellen.core.record import Pass, Record, Unscored
from snellen.core.request import Generate, Generation, Ref
from snellen.core.sample import Sample
from snellen.extract.choice import read_choice
from snellen.extract.forms import form_of, read_form
from snellen.extract.llm import RULE, Extraction, extract_choice, is_unmatched, settled
from snellen.extract.open_text import read_open
from snellen.extract.unanswered import BY_FILTER, own_words
from snellen.extract.yes_no import read_yes_no
from snellen.prompts.choice import DEFAULT, Wording, prompt
from snellen.prompts.rotation import rotatable, shift
from snellen.scoring.open_answer import matches, same_labels

Circular = Literal["off", "early", "full"]
MATCH_RATE = "match_rate"
"""Value, where there is an extractor: 1 where the rules match the first reply, else 0."""

YesNoReader = Callable[[str, str], Answer]
"""A reply and why it stopped, to what it answers."""

ChoiceReader = Callable[[str, Mapping[str, str], str], Answer]
"""A reply, the options by label and why it stopped, to the label it chooses."""

GoldChoiceReader = Callable[[Sequence[str]], ChoiceReader]
"""The gold labels of a pass, to the reader of its reply: for other tools' rules that look at the
gold while they read."""

OpenReader = Callable[[str, str], Answer]
"""A reply to an open question and why it stopped, to the text of its answer."""

Extract = Callable[[Sample, str, Ref], Steps[Extraction]]
"""A sample, its reply and which pass it is, to the answer that the extractor copies out of it."""

Grade = Callable[[str, Sample], float]
"""What an answer that was read earns, 0..1, by the sample's gold. Never called without gold."""

_YES_NO = ("Yes", "No")


def rules_reader(reply: str, options: Mapping[str, str], stop_reason: str) -> Answer:
    """The reading of choices where no other rule is asked for."""
    return read_choice(reply, options, stop_reason=stop_reason)


def words_reader(reply: str, stop_reason: str) -> Answer:
    """The reading of yes/no replies where a benchmark names no other."""
    return read_yes_no(reply, stop_reason=stop_reason)


def answer_reader(reply: str, stop_reason: str) -> Answer:
    """The reading of open replies where a benchmark names no other."""
    return read_open(reply, stop_reason=stop_reason)


def equal_to_gold(answer: str, sample: Sample) -> float:
    """1 for a gold answer after normalising (see `scoring.open_answer`), else 0."""
    return float(matches(answer, sample.gold) or same_labels(answer, sample.gold))


@dataclass(frozen=True, slots=True)
class OpenRule:
    """How open questions are read and graded: the one place where their metrics come in.

    `grade` makes `Record.score`, which may be a fraction; each of `beside` makes a number of that
    name in `Record.values`. A reply without an answer (empty, refused, truncated, unparsed) earns
    0 of each; a sample without gold, and a failure, earns nothing and is not counted. `extract`
    is there where an extractor, if there is one, reads every reply that says anything.
    """

    read: OpenReader = answer_reader
    grade: Grade = equal_to_gold
    beside: Mapping[str, Grade] = field(default_factory=dict)
    extract: Extract | None = None


EQUALITY = OpenRule()
"""The answer that a reply marks, equal to a gold answer."""


class Turn(NamedTuple):
    """One pass to be asked: its options, its gold and the data row that holds it."""

    options: Mapping[str, str]
    gold: tuple[str, ...]
    row: str | None = None


@dataclass(frozen=True, slots=True)
class Manner:
    """How questions are asked and their replies read."""

    settings: Generation
    extractor: bool = False
    """Whether replies that no rule can match go to the `extractor` role."""
    yes_no: YesNoReader = words_reader
    choice: ChoiceReader = rules_reader
    given_gold: GoldChoiceReader | None = None
    """Reads choices in place of `choice` where there is a gold."""
    open: OpenRule = EQUALITY
    wording: Wording = DEFAULT
    shown: Callable[[Sample], Shown] | None = None
    """Examples that stand before a question, where there are any."""
    by_meaning: bool = False
    """Whether an option's text is right for every option that reads the same, and an open reply is
    read in the form of its gold (see `extract.forms`): by Snellen's rule alone."""


class Shown(NamedTuple):
    """Questions with their answers, as turns of a conversation, and the bytes of their media."""

    messages: tuple[Message, ...]
    media: Mapping[str, Source]


def asked_once(how: Manner) -> Callable[[Sample], Flow]:
    """Ask once, read the reply by the rules of the sample's kind, score 0 or 1."""

    def flow(sample: Sample) -> Flow:
        turn = Turn(sample.options, sample.gold)
        done = yield from _ask(sample, turn, 0, how)
        return finish(sample, (done,), how)

    return flow


def circular(how: Manner, mode: Circular) -> Callable[[Sample], Flow]:
    """CircularEval (MMBench Sec. 4.2): right only if every rotation is answered right.

    `early` stops at the first pass that is not right, `full` asks all. Without gold all passes
    are asked. A failed request leaves the whole question unscored. `values["vanilla"]` is the
    score of the first pass, which is VanillaEval.
    """

    def flow(sample: Sample) -> Flow:
        planned = turns(sample)
        done: list[Pass] = []
        for number, turn in enumerate(planned):
            result = yield from _ask(sample, turn, number, how)
            done.append(result)
            if failure_of(result) is not None or (mode == "early" and result.correct is False):
                break
        record = finish(sample, tuple(done), how, saved=len(planned) - len(done), circular=True)
        fixed = sample.kind == "choice" and len(planned) == 1
        lacking = lacking_rotations(sample)
        if fixed or lacking:
            return msgspec.structs.replace(record, asked_once=fixed, lacking=lacking)
        return record

    return flow


def lacking_rotations(sample: Sample) -> int:
    """Rotations that the data do not hold of a question of which they hold some."""
    return max(0, len(sample.options) - 1 - len(sample.rotations)) if sample.rotations else 0


def turns(sample: Sample) -> list[Turn]:
    """The passes of a sample: rotations of a choice question, the file's own where it has them."""
    first = Turn(sample.options, sample.gold)
    if sample.kind != "choice":
        return [first]
    if sample.rotations:
        return [first] + [
            Turn(turn.options, (turn.gold,) if turn.gold else (), turn.row)
            for turn in sample.rotations
        ]
    if not rotatable(sample.options):
        return [first]
    gold = sample.gold[0] if sample.gold else None
    shifted = [shift(sample.options, gold, by) for by in range(1, len(sample.options))]
    return [first] + [Turn(turn.options, (turn.gold,) if turn.gold else ()) for turn in shifted]


def _ask(sample: Sample, turn: Turn, number: int, how: Manner) -> Steps[Pass]:
    messages = LateMessages(partial(_shown, sample, turn, how))
    choices = tuple(turn.options) if sample.kind == "choice" else ()
    ref = Ref(sample.id, number, turn.row)
    output = yield Generate(
        messages=messages,
        ref=ref,
        settings=how.settings,
        media=_sources(sample, how) if sample.media or how.shown else {},
        choices=_YES_NO if sample.kind == "yes_no" else choices,
    )
    by_rules = answer = read(sample, turn, output, how)
    extraction = None
    if how.extractor and isinstance(output, Generated):
        steps = _extraction(sample, turn, output, by_rules, ref, how)
        if steps is not None:
            extraction = yield from steps
            answer = settled(by_rules, extraction.answer)
    earned = credit(sample, turn, answer, how) if answer is not None else None
    return Pass(
        prompt=messages.looked_at(),
        output=output,
        answer=answer,
        gold=turn.gold,
        correct=None if earned is None else earned == 1.0,
        credit=earned if earned not in (None, 0.0, 1.0) else None,
        options=dict(turn.options) if turn.options is not sample.options else {},
        row=turn.row,
        extraction=extraction.output if extraction is not None else None,
        by_rules=by_rules if extraction is not None else None,
    )


def _shown(sample: Sample, turn: Turn, how: Manner) -> tuple[Message, ...]:
    asked = prompt(sample, turn.options, how.wording)
    return (*how.shown(sample).messages, *asked) if how.shown else asked


def _sources(sample: Sample, how: Manner) -> Mapping[str, Source]:
    return {**how.shown(sample).media, **sample.sources()} if how.shown else sample.sources()


def _extraction(
    sample: Sample, turn: Turn, output: Generated, by_rules: Answer | None, ref: Ref, how: Manner
) -> Steps[Extraction] | None:
    """How the extractor reads a reply; None where it is not asked about it."""
    if sample.kind == "open":
        extract = how.open.extract
        says = not output.refused and bool(output.text.strip())
        return extract(sample, output.text, ref) if extract and says else None
    if not is_unmatched(output, by_rules):
        return None
    if sample.kind == "yes_no":
        return _extract_yes_no(sample, output.text, ref)
    if not turn.options:
        return None
    return extract_choice(sample.question, turn.options, output.text, ref)


def _extract_yes_no(sample: Sample, reply: str, ref: Ref) -> Steps[Extraction]:
    """Matched with the options Yes and No; the extractor may give the word for the label."""
    labels = dict(zip("AB", _YES_NO, strict=True))
    found = yield from extract_choice(sample.question, labels, reply, ref)
    if isinstance(found.answer, Found):
        return Extraction(found.output, Found(labels[found.answer.value], found.answer.rule))
    if isinstance(found.answer, Unparsed) and isinstance(found.output, Generated):
        said = read_yes_no(own_words(found.output))
        if isinstance(said, Found):
            return Extraction(found.output, Found(said.value, RULE))
    return found


def read(sample: Sample, turn: Turn, output: Output, how: Manner) -> Answer | None:
    if not isinstance(output, Generated):
        return None
    if output.refused:
        return BY_FILTER
    if sample.kind == "choice":
        choice = how.given_gold(turn.gold) if how.given_gold and turn.gold else how.choice
        return choice(output.text, turn.options, output.stop_reason)
    if sample.kind == "yes_no":
        return how.yes_no(output.text, output.stop_reason)
    form = form_of(sample.gold) if how.by_meaning and how.open.grade is equal_to_gold else None
    if form is not None:
        return read_form(output.text, form, sample.gold, stop_reason=output.stop_reason)
    return how.open.read(output.text, output.stop_reason)


def credit(sample: Sample, turn: Turn | Pass, answer: Answer, how: Manner) -> float | None:
    """What an answer earns, 0..1: right or wrong but for open questions; None without gold."""
    gold = turn.gold
    if not gold:
        return None
    if not isinstance(answer, Found):
        return 0.0
    if sample.kind == "open":
        return how.open.grade(answer.value, sample)
    options = turn.options or sample.options
    if how.by_meaning and _by_text(answer) and options.get(answer.value, "").strip():
        return float(any(_same_text(options, answer.value, one) for one in gold))
    return float(answer.value in gold)


def _by_text(answer: Found) -> bool:
    """Whether the reply gave an option's text, not its label. A label of an option that only reads
    like the gold is wrong, as every published script has it."""
    start, end = answer.span or (0, 0)
    return end - start > 1 or "content" in answer.rule


def _same_text(options: Mapping[str, str], label: str, gold: str) -> bool:
    """Whether two options are one answer, because they read the same."""
    return label == gold or options[label].split() == options.get(gold, "").split()


def finish(
    sample: Sample,
    passes: tuple[Pass, ...],
    how: Manner,
    *,
    saved: int = 0,
    circular: bool = False,
) -> Record:
    """The sample's record. The outcome is that of the pass that decided: the one that failed,
    else the first that was not right, else the last."""
    first, last = passes[0], passes[-1]
    deciding = last
    if len(passes) > 1 and failure_of(last) is None:
        deciding = next((one for one in passes if not one.correct), last)
    failure = failure_of(deciding)
    outcome, unscored = _ending(deciding, failure)
    score = None
    if unscored is None:
        score = _earned(first) if len(passes) == 1 else min(map(_earned, passes))
    return Record(
        id=sample.id,
        kind=sample.kind,
        question=sample.question,
        outcome=outcome,
        score=score,
        unscored=unscored,
        answer=first.answer.value if isinstance(first.answer, Found) else None,
        gold=sample.gold,
        options=_as_dict(sample.options),
        groups=_as_dict(sample.groups),
        media=tuple([ref.digest for ref in sample.media]),
        passes=passes,
        values=_values(sample, passes, how, circular, score),
        saved=saved if unscored is None else 0,
        failure=failure.kind if failure is not None else None,
        unit=sample.unit,
    )


def _as_dict(held: Mapping[str, str]) -> dict[str, str]:
    """Itself where it is one: nobody changes what a sample or a record holds."""
    return held if isinstance(held, dict) else dict(held)


def failure_of(one: Pass) -> Failure | None:
    """The failure that leaves a pass without an answer: the model's, or the extractor's."""
    if isinstance(one.output, Failure):
        return one.output
    return one.extraction if isinstance(one.extraction, Failure) else None


def _earned(one: Pass) -> float:
    return float(bool(one.correct)) if one.credit is None else one.credit


def _measures(sample: Sample, one: Pass, how: Manner) -> dict[str, float]:
    """The further grades of an answer that could be graded."""
    found = one.answer.value if isinstance(one.answer, Found) else None
    return {
        name: 0.0 if found is None else grade(found, sample)
        for name, grade in how.open.beside.items()
    }


def _values(
    sample: Sample, passes: tuple[Pass, ...], how: Manner, circular: bool, score: float | None
) -> dict[str, float]:
    """Numbers beside the score: VanillaEval, and what the rules alone would have read."""
    first = passes[0]
    if first.correct is None:
        return {}
    found = _measures(sample, first, how) if sample.kind == "open" else {}
    if circular:
        found["vanilla"] = float(first.correct)
    if how.extractor:
        found[MATCH_RATE] = float(isinstance(_by_rules(first), Found))
        found["vanilla_by_rules"] = _earned_by_rules(sample, first, how)
        if score is not None:
            found["by_rules"] = min(_earned_by_rules(sample, one, how) for one in passes)
    return found


def _by_rules(one: Pass) -> Answer | None:
    return one.answer if one.extraction is None else one.by_rules


def _earned_by_rules(sample: Sample, one: Pass, how: Manner) -> float:
    answer = _by_rules(one)
    return (credit(sample, one, answer, how) or 0.0) if answer is not None else 0.0


def _ending(last: Pass, failure: Failure | None) -> tuple[Outcome, Unscored | None]:
    if failure is not None:
        missing = failure.kind == "missing"
        return ("missing", "missing") if missing else ("failed", "failed")
    outcome = outcome_of(last.answer) if last.answer is not None else "unparsed"
    return outcome, None if last.correct is not None else "no_gold"
