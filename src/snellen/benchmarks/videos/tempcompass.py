"""TempCompass: 7,540 questions about time in 410 short videos, in four tasks (Liu et al. 2024,
https://arxiv.org/abs/2403.00476).

One example row: video_id "1034419625", dim "action", question "What is the man doing in the
video?\nA. dunking a basketball\nB. dribbling a basketball\nC. passing a basketball", answer "A.
dunking a basketball".

Oddities: options stand in the question, and the gold is a whole option; the sentences of
`caption_matching` are named "Sentence A", "Caption B", "Option 1"; a caption is graded by whether
the question `mc_question` can be answered from it, so that `captioning` has no score without a
judge. Some videos are others played backwards or slowed down. The headline is the share of right
questions, as the authors print it; `dim` groups the five aspects of time.

The authors read by rule what is plainly written and ask a language model for "Correct" or
"Incorrect" for the rest, as we do with `--judge`; without a judge the rest is wrong (in VLMEvalKit
too). `--rule official` has their rules; ours read more replies, so that fewer go to a judge. The
rubrics are the authors', as VLMEvalKit has them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Literal, cast

from msgspec import structs

from snellen.benchmarks.declaration.declaration import Declaration, Options, Video
from snellen.benchmarks.declaration.golds import label_of_gold, yes_no_golds
from snellen.benchmarks.declaration.inline_options import label_of
from snellen.benchmarks.declaration.joined_files import ALL, JoinedFiles
from snellen.benchmarks.declaration.judged import RULE, Judged
from snellen.benchmarks.declaration.published import HubSplit, Published
from snellen.benchmarks.declaration.rows import build_sample
from snellen.benchmarks.declaration.video_questions import video_name
from snellen.benchmarks.protocol.judged_flows import ask_model, build_record, ungraded_record
from snellen.benchmarks.protocol.judging import JudgePanel, ask_judges, judge_values
from snellen.core.benchmark import REQUIRES_TEXT, Variant
from snellen.core.output import Answer, Generated, ParsedAnswer, Unparsed
from snellen.core.record import Flow, Pass
from snellen.core.request import Generation, Message, Ref
from snellen.core.sample import Row, Sample
from snellen.data.columns import row_gold
from snellen.data.tables.options import split_inline_options
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
from snellen.extract.yes_no_words import lone_yes_no
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


def _flow(settings: Generation, panel: JudgePanel, options: Mapping[str, str]) -> Callable[[Sample], Flow]:
    """The flow of a sample by the task it is of."""
    rule = cast(Rule, options[RULE])

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
    output = yield from ask_model(structs.replace(sample, options={}), messages, settings)
    if not isinstance(output, Generated):
        return build_record(sample, (Pass(messages, output, gold=sample.gold),))
    no_answer = non_answer(output)
    if no_answer is not None:
        return build_record(sample, (Pass(messages, output, no_answer, sample.gold, False),), score=0.0)
    fields = {"reply": output.text, "question": sample.options.get(ABOUT_CAPTION, "")}
    verdicts = yield from ask_judges(
        panel,
        RUBRICS["caption"],
        fields,
        partial(_parse_gold_choice, gold=sample.gold),
        Ref(sample.id),
        about=_quoted_text(output, rule),
    )
    answer = ParsedAnswer(output.text.strip(), "whole reply")
    result = Pass(messages, output, answer, sample.gold, verdicts=verdicts.verdicts)
    grade = verdicts.grade()
    if grade is None or verdicts.failure is not None:
        return ungraded_record(sample, (result,), verdicts)
    result = structs.replace(result, correct=grade > 0.5)
    return build_record(sample, (result,), score=grade, values=dict(judge_values(verdicts, float)))


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
        return prompt(structs.replace(sample, question=question), template=TEMPLATE)
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


NAME = "tempcompass"
_TASK_OF_CELL: Mapping[str, Task] = {
    "mcq": "multi-choice",
    "multi-choice": "multi-choice",
    "multi_choice": "multi-choice",
    "yes_no": "yes_no",
    "caption_matching": "caption_matching",
    "captioning": "captioning",
}
"""What a column `task_type` may say."""


def task_of(row: Row) -> Task:
    """Told by a column `task_type`, else seen from the question."""
    cells = row.cells
    task = _TASK_OF_CELL.get(cells.get("task_type", "").strip().lower())
    if task is not None:
        return task
    if "mc_question" in cells:
        return "captioning"
    if row_gold(row) and all(map(lone_yes_no, row_gold(row))):
        return "yes_no"
    question = cells.get("question", "")
    if split_inline_options(question).options:
        return "multi-choice"
    return "caption_matching" if sentences_by_name(question) else "captioning"


def _sample(row: Row, options: Options) -> Sample | None:
    """Of the task or of all; the options of choices leave the question."""
    task = task_of(row)
    if options["task"] not in (ALL, task):
        return None
    groups = {"dim": row.cells.get("dim", ""), "task": task}
    sample = build_sample(row, gold=row_gold(row), groups=groups, unit=video_name(row))
    return _ADJUST_BY_TASK[task](sample, row.cells)


def _adjust_choice(sample: Sample, cells: Mapping[str, str]) -> Sample:
    split = split_inline_options(sample.question)
    golds = tuple(label_of_gold(gold, split.options) for gold in sample.gold)
    return structs.replace(sample, kind="choice", question=split.question, options=split.options, gold=golds)


def _adjust_yes_no(sample: Sample, cells: Mapping[str, str]) -> Sample:
    return structs.replace(sample, kind="yes_no", gold=yes_no_golds(sample.gold))


def _adjust_matching(sample: Sample, cells: Mapping[str, str]) -> Sample:
    """The sentences stay in the question; the gold is the name of one."""
    sentences = sentences_by_name(sample.question)
    golds = tuple(_sentence_name(gold, sentences) for gold in sample.gold)
    return structs.replace(sample, gold=golds)


def _adjust_captioning(sample: Sample, cells: Mapping[str, str]) -> Sample:
    golds = (cells["mc_answer"],) if "mc_answer" in cells else sample.gold
    labels = tuple(label_of(gold) or gold for gold in golds)
    about = {ABOUT_CAPTION: cells["mc_question"]} if "mc_question" in cells else {}
    return structs.replace(sample, options=about, gold=labels)


_ADJUST_BY_TASK: Mapping[Task, Callable[[Sample, Mapping[str, str]], Sample]] = {
    "multi-choice": _adjust_choice,
    "yes_no": _adjust_yes_no,
    "caption_matching": _adjust_matching,
    "captioning": _adjust_captioning,
}


def _sentence_name(gold: str, sentences: Mapping[str, str]) -> str:
    text = gold.strip()
    fitting = (
        name
        for name, sentence in sentences.items()
        if text in (name, sentence) or text.startswith((f"{name}:", f"{name}."))
    )
    return next(fitting, text)


_TASK_FILES = Published(
    {"task": TASKS}, {(task,): HubSplit(f"hf://lmms-lab/TempCompass?config={task}&split=test") for task in TASKS}
)


def _for_task(declaration: Declaration, variant: Variant) -> Declaration:
    is_captioning = variant.options.get("task") == CAPTIONING
    return replace(declaration, scoring=replace(_SCORING, must_judge=is_captioning))


_SCORING = Judged(
    flow=_flow, rubrics=tuple(RUBRICS.values()), rules=dict.fromkeys(("snellen", "official")), max_judge_tokens=512
)
BENCHMARK = Declaration(
    name=NAME,
    version="7",
    title="TempCompass, time in short videos",
    paper="https://arxiv.org/abs/2403.00476",
    provenance="TempCompass (CC BY-NC 4.0), lmms-eval's data set",
    data=JoinedFiles(name=NAME, option="task", values=(ALL, *TASKS), published=_TASK_FILES),
    aliases={
        "TempCompass": {"task": "all"},
        "TempCompass_8frame": {"task": "all", "frames": "8", "sampling": "vlmevalkit"},
        "TempCompass_64frame": {"task": "all", "frames": "64", "sampling": "vlmevalkit"},
        "TempCompass_1fps": {"task": "all", "fps": "1", "frames": "2048"},
        "TempCompass_0.5fps": {"task": "all", "fps": "0.5", "frames": "2048"},
        "TempCompass_MCQ": {"task": "multi-choice"},
        "TempCompass_Captioning": {"task": "captioning"},
        "TempCompass_YorN": {"task": "yes_no"},
        "tempcompass_multi_choice": {"task": "multi-choice", "sampling": "lmms-eval"},
        "tempcompass_yes_no": {"task": "yes_no", "sampling": "lmms-eval"},
        "tempcompass_caption_matching": {"task": "caption_matching", "sampling": "lmms-eval"},
        "tempcompass_captioning": {"task": "captioning", "sampling": "lmms-eval"},
    },
    for_variant=_for_task,
    sample=_sample,
    requires=REQUIRES_TEXT,
    video=Video(search_cache=False),
    scoring=_SCORING,
)
