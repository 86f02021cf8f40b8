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
from snellen.benchmarks.protocol.judged_flows import ask_model, build_record, ungraded_record
from snellen.benchmarks.protocol.judging import JudgePanel, VerdictParser, ask_judges, judge_values
from snellen.core.flow import Flow
from snellen.core.output import Answer, Generated, ParsedAnswer, Unparsed
from snellen.core.record import Pass
from snellen.core.request import Generation, Message, Ref
from snellen.core.sample import Sample
from snellen.extract.choice import parse_choice
from snellen.extract.published.tempcompass import (
    parse_sentence_match,
    parse_sentence_match_any_case,
    parse_tempcompass_choice,
    parse_tempcompass_yes_no,
    sentences_by_name,
)
from snellen.extract.unanswered import FILTER_REFUSAL, non_answer
from snellen.extract.verdicts import GRADE, ParsedVerdict, parse_correctness, parse_labels
from snellen.extract.yes_no import parse_yes_no
from snellen.prompts.choice import PromptTemplate, prompt

Task = Literal["multi-choice", "yes_no", "caption_matching", "captioning"]
Rule = Literal["snellen", "official"]
TASKS: tuple[Task, ...] = ("multi-choice", "yes_no", "caption_matching", "captioning")
CAPTIONING: Task = "captioning"
RUBRICS = {"answer": "tempcompass-answer", "caption": "tempcompass-caption"}
ABOUT_CAPTION = "mc_question"
"""Key in `Sample.options` of the question that a judge answers from the caption; the model does not
see it."""
_ANSWER = re.compile(r"^.*\bAnswer\W*:[*\s]*(.+)$", re.IGNORECASE | re.MULTILINE)
_LABELLED_OPTION = re.compile(r"(?<!\w)([A-D])[.):](?=\s)")
"""An option by its label, in what a judge answers."""
_SURROUNDING_MARKS = " \"'`{}[]"
_NONE = re.compile(r"\W*none of the (?:choices|options)\b", re.IGNORECASE)
_VERDICTS = frozenset({"0", "1", "correct", "incorrect"})
_BEST = "Please directly give the best option:"
TEMPLATE = PromptTemplate(
    hint="{hint}", question="{question}", options="", choose=_BEST, yes_no="\nPlease answer yes or no:", open=""
)
"""The instructions of the authors' scripts."""


def build_flow(settings: Generation, panel: JudgePanel, rule: Rule) -> Callable[[Sample], Flow]:
    """The flow of a sample by the task it is of."""

    def flow(sample: Sample) -> Flow:
        task = sample.groups["task"]
        if task == CAPTIONING:
            return (yield from _caption_flow(sample, settings, panel, rule))
        return (yield from _answer_flow(sample, settings, panel, rule))

    return flow


def parse_reply(sample: Sample, reply: str, stop_reason: str, rule: Rule) -> Answer:
    """The label, word or name of a sentence that a reply gives."""
    if sample.groups["task"] == "caption_matching":
        sentences = sentences_by_name(sample.question)
        if rule == "official":
            return parse_sentence_match(reply, sentences)
        answer = parse_sentence_match_any_case(reply, sentences)
        return _parse_sentence(answer, reply, sentences, stop_reason)
    if sample.kind == "yes_no":
        if rule == "official":
            return parse_tempcompass_yes_no(reply)
        return parse_yes_no(reply, stop_reason=stop_reason)
    if rule == "official":
        return parse_tempcompass_choice(reply, sample.options)
    return parse_choice(reply, sample.options, stop_reason=stop_reason)


def _parse_sentence(answer: Answer, reply: str, sentences: Mapping[str, str], stop_reason: str) -> Answer:
    """Parse what the authors' rule cannot as a choice among the named sentences."""
    labels = {name.split()[-1]: name for name in sentences}
    if not isinstance(answer, Unparsed) or not all(label.isalpha() for label in labels):
        return answer
    options = {label: sentences[name] for label, name in labels.items()}
    choice = parse_choice(reply, options, stop_reason=stop_reason)
    return ParsedAnswer(labels[choice.value], choice.rule, choice.span) if isinstance(choice, ParsedAnswer) else choice


def _answer_flow(sample: Sample, settings: Generation, panel: JudgePanel, rule: Rule) -> Flow:
    """Ask, parse by rule, and have a judge grade what no rule can parse."""
    messages = _messages(sample)
    output = yield from ask_model(sample, messages, settings)
    if not isinstance(output, Generated):
        return build_record(sample, (Pass(messages, output, gold=sample.gold),))
    answer = parse_reply(sample, output.text, output.stop_reason, rule)
    if output.is_refusal:
        answer = FILTER_REFUSAL
    no_answer = output.is_refusal or not output.text.strip()
    decided = no_answer or (isinstance(answer, ParsedAnswer) and not panel.has_recorded_verdicts)
    right = answer.value in sample.gold if isinstance(answer, ParsedAnswer) else False
    by_rules = right if sample.gold else None
    result = Pass(messages, output, answer, sample.gold, by_rules)
    score = None if by_rules is None else float(by_rules)
    if decided or not panel or score is None:
        return build_record(sample, (result,), score=score)
    verdicts = yield from ask_judges(
        panel,
        RUBRICS["answer"],
        _fields(panel.rubric(RUBRICS["answer"]).rules, sample, output.text),
        parse_correctness,
        Ref(sample.id),
        about=_quoted_text(output, rule),
    )
    if isinstance(answer, ParsedAnswer) and verdicts.is_missing:
        return build_record(sample, (result,), score=score)
    result = structs.replace(result, verdicts=verdicts.verdicts)
    grade = verdicts.grade()
    if grade is None or verdicts.failure is not None:
        return ungraded_record(sample, (result,), verdicts)
    result = structs.replace(result, correct=grade > 0.5)
    return build_record(sample, (result,), score=grade, outcome="answered", values=dict(judge_values(verdicts, float)))


def _quoted_text(output: Generated, rule: Rule) -> str:
    """The reply in which a judge's verdict must not be a mere quotation; empty if verdicts are
    parsed as the authors do."""
    return output.text if rule == "snellen" else ""


def _caption_flow(sample: Sample, settings: Generation, panel: JudgePanel, rule: Rule) -> Flow:
    """Ask for a caption, and have a judge answer the question from it."""
    messages = _messages(sample)
    output = yield from ask_model(replace(sample, options={}), messages, settings)
    if not isinstance(output, Generated):
        return build_record(sample, (Pass(messages, output, gold=sample.gold),))
    no_answer = non_answer(output)
    if no_answer is not None:
        return build_record(sample, (Pass(messages, output, no_answer, sample.gold, False),), score=0.0)
    fields = {"reply": output.text, "question": sample.options.get(ABOUT_CAPTION, "")}
    verdicts = yield from ask_judges(
        panel, RUBRICS["caption"], fields, _parse_judge_choice(sample), Ref(sample.id), about=_quoted_text(output, rule)
    )
    answer = ParsedAnswer(output.text.strip(), "whole reply")
    result = Pass(messages, output, answer, sample.gold, verdicts=verdicts.verdicts)
    grade = verdicts.grade()
    if grade is None or verdicts.failure is not None:
        return ungraded_record(sample, (result,), verdicts)
    result = structs.replace(result, correct=grade > 0.5)
    return build_record(sample, (result,), score=grade, values=dict(judge_values(verdicts, float)))


def _parse_judge_choice(sample: Sample) -> VerdictParser:
    return partial(_parse_gold_choice, gold=sample.gold)


def _parse_gold_choice(reply: str, gold: tuple[str, ...]) -> ParsedVerdict | None:
    """1 if the judge chose the gold label alone, 0 if another or none.

    Its choice follows "Answer:", or is the whole reply. A recorded verdict (1, 0, Correct,
    Incorrect) counts as it is.
    """
    if reply.strip().lower() in _VERDICTS:
        return parse_correctness(reply)
    answers = _ANSWER.findall(reply)
    answer = (answers[-1] if answers else reply).strip(_SURROUNDING_MARKS)
    label = label_of(answer)
    chosen = ParsedVerdict(text=label) if label else parse_labels(answer)
    if _NONE.match(answer.strip()) or len(set(_LABELLED_OPTION.findall(answer))) > 1:
        chosen = ParsedVerdict(text="")
    if chosen is None or chosen.text is None:
        return None
    return ParsedVerdict({GRADE: float(chosen.text in gold)}, chosen.text)


def _messages(sample: Sample) -> tuple[Message, ...]:
    """The prompt; the sentences of a matching question stand in it, and its closing line is that
    of a choice."""
    if sample.groups["task"] == "caption_matching":
        question = f"{sample.question}\n{_BEST}"
        return prompt(replace(sample, question=question), template=TEMPLATE)
    return prompt(sample, template=TEMPLATE)


def _fields(rules: Mapping[str, str], sample: Sample, reply: str) -> dict[str, str]:
    listed = [f"{label}. {text}" for label, text in sample.options.items()]
    sentences = sentences_by_name(sample.question)
    whole = {label: f"{label}. {text}" for label, text in sample.options.items()}
    whole |= {name: f"{name}: {text}" for name, text in sentences.items()}
    gold = ", ".join(whole.get(label, label) for label in sample.gold)
    return {
        "question": "\n".join([sample.question, *listed]),
        "gold": gold,
        "reply": reply,
        "rule": rules[sample.groups["task"]],
    }
