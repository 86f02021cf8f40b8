"""How TempCompass's questions are asked and graded: rules first, a judge for what they cannot read;
captions by a judge alone."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import partial
from typing import Literal

from msgspec import structs
from msgspec.structs import replace

from snellen.benchmarks.declaration.inline_options import label_of
from snellen.benchmarks.protocol.judged_flows import asked, record_of, ungraded
from snellen.benchmarks.protocol.judging import Panel, Read, judged, spread_of
from snellen.core.answer import Answer, Found, Unparsed
from snellen.core.flow import Flow
from snellen.core.message import Message
from snellen.core.output import Generated
from snellen.core.record import Pass
from snellen.core.request import Generation, Ref
from snellen.core.sample import Sample
from snellen.extract.choice import read_choice
from snellen.extract.published.tempcompass import (
    named_sentences,
    read_choice_of,
    read_match_in_any_case,
    read_match_of,
    read_yes_no_of,
)
from snellen.extract.unanswered import BY_FILTER, unanswered
from snellen.extract.verdicts import GRADE, Reading, read_labels, read_right
from snellen.extract.yes_no import read_yes_no
from snellen.prompts.choice import Wording, prompt
from snellen.prompts.judging import rubric

Task = Literal["multi-choice", "yes_no", "caption_matching", "captioning"]
Rule = Literal["snellen", "official"]
TASKS: tuple[Task, ...] = ("multi-choice", "yes_no", "caption_matching", "captioning")
CAPTIONING: Task = "captioning"
RUBRICS = {"answer": "tempcompass-answer", "caption": "tempcompass-caption"}
ABOUT_CAPTION = "mc_question"
"""Key in `Sample.options` of the question that a judge answers from the caption; the model does not
see it."""
_ANSWER = re.compile(r"^.*\bAnswer\W*:[*\s]*(.+)$", re.IGNORECASE | re.MULTILINE)
_NAMED = re.compile(r"(?<!\w)([A-D])[.):](?=\s)")
"""An option by its label, in what a judge answers."""
_MARKS_AROUND = " \"'`{}[]"
_NONE = re.compile(r"\W*none of the (?:choices|options)\b", re.IGNORECASE)
_VERDICTS = frozenset({"0", "1", "correct", "incorrect"})
_BEST = "Please directly give the best option:"
WORDING = Wording(
    hint="{hint}",
    question="{question}",
    options="",
    choose=_BEST,
    yes_no="\nPlease answer yes or no:",
    open="",
)
"""The instructions of the authors' scripts."""


def flow_of(settings: Generation, panel: Panel, rule: Rule) -> Callable[[Sample], Flow]:
    """The flow of a sample by the task it is of."""

    def flow(sample: Sample) -> Flow:
        task = sample.groups["task"]
        if task == CAPTIONING:
            return (yield from _captioned(sample, settings, panel, rule))
        return (yield from _answered(sample, settings, panel, rule))

    return flow


def read_reply(sample: Sample, reply: str, stop_reason: str, rule: Rule) -> Answer:
    """The label, word or name of a sentence that a reply gives."""
    if sample.groups["task"] == "caption_matching":
        sentences = named_sentences(sample.question)
        if rule == "official":
            return read_match_of(reply, sentences)
        answer = read_match_in_any_case(reply, sentences)
        return _sentence(answer, reply, sentences, stop_reason)
    if sample.kind == "yes_no":
        if rule == "official":
            return read_yes_no_of(reply)
        return read_yes_no(reply, stop_reason=stop_reason)
    if rule == "official":
        return read_choice_of(reply, sample.options)
    return read_choice(reply, sample.options, stop_reason=stop_reason)


def _sentence(answer: Answer, reply: str, sentences: Mapping[str, str], stop_reason: str) -> Answer:
    """What the authors' rule cannot read is read as a choice among the named sentences."""
    labels = {name.split()[-1]: name for name in sentences}
    if not isinstance(answer, Unparsed) or not all(label.isalpha() for label in labels):
        return answer
    options = {label: sentences[name] for label, name in labels.items()}
    found = read_choice(reply, options, stop_reason=stop_reason)
    return Found(labels[found.value], found.rule, found.span) if isinstance(found, Found) else found


def _answered(sample: Sample, settings: Generation, panel: Panel, rule: Rule) -> Flow:
    shown = _shown(sample)
    output = yield from asked(sample, shown, settings)
    if not isinstance(output, Generated):
        return record_of(sample, (Pass(shown, output, gold=sample.gold),))
    answer = read_reply(sample, output.text, output.stop_reason, rule)
    if output.refused:
        answer = BY_FILTER
    silent = output.refused or not output.text.strip()
    decided = silent or (isinstance(answer, Found) and not panel.recorded)
    right = answer.value in sample.gold if isinstance(answer, Found) else False
    by_rules = right if sample.gold else None
    one = Pass(shown, output, answer, sample.gold, by_rules)
    score = None if by_rules is None else float(by_rules)
    if decided or not panel or score is None:
        return record_of(sample, (one,), score=score)
    found = yield from judged(
        panel,
        RUBRICS["answer"],
        _fields(sample, output.text),
        read_right,
        Ref(sample.id),
        about=_judged_text(output, rule),
    )
    if isinstance(answer, Found) and found.absent:
        return record_of(sample, (one,), score=score)
    one = structs.replace(one, verdicts=found.verdicts)
    grade = found.grade()
    if grade is None or found.failure is not None:
        return ungraded(sample, (one,), found)
    one = structs.replace(one, correct=grade > 0.5)
    return record_of(
        sample, (one,), score=grade, outcome="answered", values=dict(spread_of(found, float))
    )


def _judged_text(output: Generated, rule: Rule) -> str:
    """What a judge's verdict is held against; nothing where it is read as the authors read it."""
    return output.text if rule == "snellen" else ""


def _captioned(sample: Sample, settings: Generation, panel: Panel, rule: Rule) -> Flow:
    shown = _shown(sample)
    output = yield from asked(replace(sample, options={}), shown, settings)
    if not isinstance(output, Generated):
        return record_of(sample, (Pass(shown, output, gold=sample.gold),))
    silent = unanswered(output)
    if silent is not None:
        return record_of(sample, (Pass(shown, output, silent, sample.gold, False),), score=0.0)
    fields = {"reply": output.text, "question": sample.options.get(ABOUT_CAPTION, "")}
    found = yield from judged(
        panel,
        RUBRICS["caption"],
        fields,
        _chosen_by_judge(sample),
        Ref(sample.id),
        about=_judged_text(output, rule),
    )
    answer = Found(output.text.strip(), "whole reply")
    one = Pass(shown, output, answer, sample.gold, verdicts=found.verdicts)
    grade = found.grade()
    if grade is None or found.failure is not None:
        return ungraded(sample, (one,), found)
    one = structs.replace(one, correct=grade > 0.5)
    return record_of(sample, (one,), score=grade, values=dict(spread_of(found, float)))


def _chosen_by_judge(sample: Sample) -> Read:
    return partial(_label_is_gold, gold=sample.gold)


def _label_is_gold(reply: str, gold: tuple[str, ...]) -> Reading | None:
    """1 where the judge chose the gold label and no other, 0 where it chose another or none; its
    choice stands after "Answer:", or alone. A recorded verdict (1, 0, Correct, Incorrect) is taken
    as it is."""
    if reply.strip().lower() in _VERDICTS:
        return read_right(reply)
    answers = _ANSWER.findall(reply)
    answer = (answers[-1] if answers else reply).strip(_MARKS_AROUND)
    label = label_of(answer)
    chosen = Reading(text=label) if label else read_labels(answer)
    if _NONE.match(answer.strip()) or len(set(_NAMED.findall(answer))) > 1:
        chosen = Reading(text="")
    if chosen is None or chosen.text is None:
        return None
    return Reading({GRADE: float(chosen.text in gold)}, chosen.text)


def _shown(sample: Sample) -> tuple[Message, ...]:
    """The prompt; the sentences of a matching question stand in it, and its closing line is that
    of a choice."""
    if sample.groups["task"] == "caption_matching":
        question = f"{sample.question}\n{_BEST}"
        return prompt(replace(sample, question=question), wording=WORDING)
    return prompt(sample, wording=WORDING)


def _fields(sample: Sample, reply: str) -> dict[str, str]:
    listed = [f"{label}. {text}" for label, text in sample.options.items()]
    sentences = named_sentences(sample.question)
    whole = {label: f"{label}. {text}" for label, text in sample.options.items()}
    whole |= {name: f"{name}: {text}" for name, text in sentences.items()}
    gold = ", ".join(whole.get(label, label) for label in sample.gold)
    return {
        "question": "\n".join([sample.question, *listed]),
        "gold": gold,
        "reply": reply,
        "rule": rubric(RUBRICS["answer"]).rules[sample.groups["task"]],
    }
