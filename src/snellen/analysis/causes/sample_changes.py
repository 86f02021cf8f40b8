"""What may have made one sample score differently in two runs.

The decisive pass is examined: the first in which one run is right and the other is not, else the
first that differs in anything. What is equal there rules out everything before it, since it cannot
have mattered:

* The replies are equal, or were parsed to the same answer in the same way and no judge graded
  them: only scoring is left. `extraction` if the parsed answers differ (`data` if the options
  differ, `judge` if a judge parsed them), `data` if the gold differs, `judge` if verdicts do,
  else `scoring` (another metric, or another number of passes).
* A request failed in one run: `failures`.
* Else everything that differs about the sample may have mattered, and each is named: the
  question, its options or its gold (`data`); the media, by their digests, or how the model gets
  them (`media`); the messages (`prompt`); the settings, or a token limit that a reply has reached
  (`decoding`); the model; and the rules or models that parsed the replies. If nothing differs the
  same request was sent to the same model: `chance`.

Which of several causes moved the score is decided in `snellen.analysis.causes.attribution`.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from snellen.analysis.causes.factors import (
    DECODING_FACTS,
    MEDIA_FACTS,
    SEED_FACTS,
    Cause,
    Differences,
    RunRecords,
    prompt_media,
    prompt_text,
)
from snellen.core.output import Answer, Failure, Generated, Output, ParsedAnswer, Truncated
from snellen.core.record import Pass, Record

_MAX_WORDS = 12
_CONTEXT = 12
"""Characters quoted around a difference in white space; `_MAX_WORDS` limits the words of others."""


class SampleChange(NamedTuple):
    """What may have moved a sample's score.

    `reply_causes` act through the reply, and `is_blocked` says that they moved nothing, since the
    replies were equal or parsed to the same answer; `scoring_causes` act on an existing reply.
    `pass_index` is the decisive pass, from 0.
    """

    reply_causes: frozenset[Cause]
    scoring_causes: frozenset[Cause]
    is_blocked: bool
    details: dict[Cause, str]
    pass_index: int

    @property
    def causes(self) -> frozenset[Cause]:
        """The causes that may have moved the score if only these two runs are known."""
        return self.scoring_causes if self.is_blocked else self.reply_causes | self.scoring_causes


class _ComparedPass(NamedTuple):
    """One pass of a sample in two runs, with all that may explain its differences."""

    runs: tuple[RunRecords, RunRecords]
    run_differences: Differences
    records: tuple[Record, Record]
    pass_index: int
    """Of the pass, from 0, over all draws."""

    @property
    def passes(self) -> tuple[Pass, Pass]:
        first, second = self.records
        return passes_of(first)[self.pass_index], passes_of(second)[self.pass_index]

    @property
    def asked_passes(self) -> tuple[Pass, Pass]:
        """The passes that record the requests: later draws repeat that of the first draw."""
        first, second = self.records
        if self.pass_index >= min(len(first.passes), len(second.passes)):
            return first.passes[0], second.passes[0]
        return self.passes

    @property
    def question_cause(self) -> Cause:
        """The cause of another question, other options or another gold: over the same data they
        come from the prompt, such as options in another order."""
        first, second = (run.info for run in self.runs)
        if first is None or second is None:
            return "data"
        return "data" if first.config.data != second.config.data else "prompt"


def sample_change(
    first: RunRecords, second: RunRecords, run_differences: Differences, first_record: Record, second_record: Record
) -> SampleChange:
    """What differs about a sample that both runs counted."""
    for record, name in ((first_record, "first"), (second_record, "second")):
        if record.score is None:
            return _failure_change(f"{record.unscored} in the {name} run", 0)
    runs, records = (first, second), (first_record, second_record)
    pass_index = _decisive_pass(first_record, second_record)
    if pass_index is not None:
        return _change_in(_ComparedPass(runs, run_differences, records, pass_index))
    details = _record_differences(first_record, second_record)
    reply_causes = (
        _request_differences(_ComparedPass(runs, run_differences, records, 0))
        if first_record.passes and second_record.passes
        else {}
    )
    return _blocked_change(reply_causes, details, 0)


def _change_in(compared: _ComparedPass) -> SampleChange:
    """What differs about a sample, by its decisive pass."""
    first, second = compared.passes
    if isinstance(first.output, Failure) != isinstance(second.output, Failure):
        return _failure_change("a request failed", compared.pass_index)
    reply_causes = _request_differences(compared)
    same_reply = _same_reply(first.output, second.output)
    graded = first.verdicts or second.verdicts
    same_parsing = not graded and "extraction" not in compared.run_differences.causes
    if same_reply or (same_parsing and _same_answer(first.answer, second.answer)):
        scoring_causes = _parse_differences(compared, same_reply)
        return _blocked_change(reply_causes, scoring_causes, compared.pass_index)
    reply_causes = reply_causes or _unexplained_difference(compared)
    scoring_causes = _parser_differences(compared)
    # A cause that acts through the request (a changed question with its gold) is named once.
    own_causes = frozenset(scoring_causes) - frozenset(reply_causes)
    details = {**scoring_causes, **reply_causes}
    return SampleChange(frozenset(reply_causes), own_causes, False, details, compared.pass_index)


def _blocked_change(
    reply_causes: Mapping[Cause, str], scoring_causes: Mapping[Cause, str], pass_index: int
) -> SampleChange:
    """The change of a sample whose replies, or parsed answers, are equal."""
    details = {**reply_causes, **scoring_causes}
    return SampleChange(frozenset(reply_causes), frozenset(scoring_causes), True, details, pass_index)


def _failure_change(detail: str, pass_index: int) -> SampleChange:
    return SampleChange(frozenset(), frozenset({"failures"}), True, {"failures": detail}, pass_index)


def _decisive_pass(first_record: Record, second_record: Record) -> int | None:
    """Index of the decisive pass; None if all passes are equal."""
    pairs = list(zip(passes_of(first_record), passes_of(second_record), strict=False))
    for index, (first_pass, second_pass) in enumerate(pairs):
        if (first_pass.correct, first_pass.credit) != (second_pass.correct, second_pass.credit):
            return index
    for index, (first_pass, second_pass) in enumerate(pairs):
        if not _same_reply(first_pass.output, second_pass.output) or not _same_verdicts(first_pass, second_pass):
            return index
    return None


def _record_differences(first_record: Record, second_record: Record) -> dict[Cause, str]:
    """Why records differ although their passes are equal."""
    if len(first_record.repeats) != len(second_record.repeats):
        times = [max(1, len(record.repeats)) for record in (first_record, second_record)]
        return {"chance": f"asked {times[0]} and {times[1]} times, equal as far as both go"}
    if len(first_record.passes) != len(second_record.passes):
        return {
            "scoring": f"{len(first_record.passes)} and {len(second_record.passes)} passes, equal as far as both go"
        }
    return {"scoring": "equal in every pass, scored by another rule"}


def passes_of(record: Record) -> list[Pass]:
    """The passes of all draws of a sample, those of the first draw first."""
    later = (draw.passes for draw in record.repeats[1:])
    return [*record.passes, *(single for passes in later for single in passes)]


def _parse_differences(compared: _ComparedPass, same_reply: bool) -> dict[Cause, str]:
    """Differences in scoring for the same reply, or for another that was parsed to the same
    answer."""
    details: dict[Cause, str] = {}
    first, second = compared.passes
    options_differ = _options_differ(compared.records, (first, second))
    if not _same_answer(first.answer, second.answer):
        if options_differ:
            details[compared.question_cause] = "the options differ"
        elif not _same_verdicts(first, second):
            details["judge"] = "a judge read the same reply otherwise"
        else:
            details["extraction"] = _rules_text(first, second)
    elif same_reply and not _same_verdicts(first, second):
        details["judge"] = f"graded {_grades_text(first)}, and {_grades_text(second)}"
    golds = _gold_difference(compared)
    if golds:
        details.setdefault(compared.question_cause, golds)
    if not details and options_differ and same_reply:
        details[compared.question_cause] = "the options differ"
    return details or {"scoring": "the same answer, scored otherwise"}


def _parser_differences(compared: _ComparedPass) -> dict[Cause, str]:
    """For different replies: what would have parsed or scored the same reply differently."""
    details: dict[Cause, str] = {}
    first, second = compared.passes
    causes = compared.run_differences.causes
    if "extraction" in causes:
        details["extraction"] = _rules_text(first, second)
    if "judge" in causes and (first.verdicts or second.verdicts):
        details["judge"] = f"graded {_grades_text(first)}, and {_grades_text(second)}"
    if "scoring" in causes:
        details["scoring"] = "scored by another rule"
    golds = _gold_difference(compared)
    if golds:
        details[compared.question_cause] = golds
    return details


def _gold_difference(compared: _ComparedPass) -> str:
    golds = [one_pass.gold or record.gold for one_pass, record in zip(compared.passes, compared.records, strict=True)]
    if golds[0] == golds[1]:
        return ""
    return f"the gold answer was {_join_golds(golds[0])}, and is {_join_golds(golds[1])}"


def _request_differences(compared: _ComparedPass) -> dict[Cause, str]:
    """Everything that differs about the request, with a sentence for each."""
    run_differences = compared.run_differences
    details: dict[Cause, str] = {}
    question_detail = _question_difference(compared.records, compared.asked_passes)
    if question_detail:
        details[compared.question_cause] = question_detail
    if any(run.info is None for run in compared.runs):
        detail = "another reply; its prompt, media and settings are unknown"
        unknown: tuple[Cause, ...] = ("media", "prompt", "decoding", "model")
        return {**details, **dict.fromkeys(unknown, detail)}
    media = [prompt_media(one_pass.prompt) for one_pass in compared.asked_passes]
    if media[0] != media[1]:
        details["media"] = _media_difference(*media)
    elif run_differences.facts & MEDIA_FACTS:
        fact_names = ", ".join(sorted(run_differences.facts & MEDIA_FACTS))
        details["media"] = f"the model got its images in another form ({fact_names})"
    prompt_index = _first_prompt_difference(*compared.records, compared.pass_index)
    if prompt_index is not None and ("data" not in details or "prompt" in run_differences.causes):
        texts = [prompt_text(record.passes[prompt_index].prompt) for record in compared.records]
        details.setdefault("prompt", _first_difference(*texts))
    decoding = _decoding_difference(compared)
    if decoding:
        details["decoding"] = decoding
    if "model" in run_differences.causes:
        versions = run_differences.facts - DECODING_FACTS - SEED_FACTS - MEDIA_FACTS
        details["model"] = (
            f"another version of the model ({', '.join(sorted(versions))})"
            if run_differences.same_model
            else "another model"
        )
    return details


def _first_prompt_difference(first_record: Record, second_record: Record, last_index: int) -> int | None:
    """Index of the first pass, up to `last_index`, whose messages differ while all earlier replies
    are equal: later messages may quote earlier replies. None if there is none."""
    for index, (first_pass, second_pass) in enumerate(zip(first_record.passes, second_record.passes, strict=False)):
        if index > last_index:
            return None
        if prompt_text(first_pass.prompt) != prompt_text(second_pass.prompt):
            return index
        if not _same_reply(first_pass.output, second_pass.output):
            return None
    return None


def _decoding_difference(compared: _ComparedPass) -> str:
    """The settings that differ and can have changed the reply, in words; else empty."""
    run_differences = compared.run_differences
    facts = run_differences.facts & DECODING_FACTS
    if facts:
        return f"other settings ({', '.join(sorted(facts))})"
    if "decoding" not in run_differences.causes:
        return ""
    limits = run_differences.limits
    if limits[0] == limits[1]:
        return "other settings"
    if not any(_may_reach(one_pass.output, min(limits)) for one_pass in compared.passes):
        # Neither reply is long enough for the lower limit to have truncated it.
        return ""
    return _cut_difference(compared) or f"at most {limits[0]} tokens, and {limits[1]}"


def _cut_difference(compared: _ComparedPass) -> str:
    """Which reply was cut, if only one was; else empty."""
    first, second = map(_is_cut, compared.passes)
    if first == second:
        return ""
    return f"the {'first' if first else 'second'} run's reply was cut at the token limit"


def _may_reach(output: Output, limit: int) -> bool:
    """Whether a reply may be as long as a limit in tokens."""
    if not isinstance(output, Generated):
        return True
    if output.stop_reason == "length":
        return True
    if output.usage is not None and output.usage.completion_tokens:
        return output.usage.completion_tokens >= limit
    # Without a token count: a token has at least one byte.
    return len((output.text + (output.reasoning or "")).encode()) >= limit


def _unexplained_difference(compared: _ComparedPass) -> dict[Cause, str]:
    """Another reply of one model to the same question: a setting of the request, or chance."""
    first, second = compared.records
    if first.requests[:1] == second.requests[:1] != ():
        return {"chance": "the same request, another reply"}
    facts = compared.run_differences.facts
    if facts and facts <= SEED_FACTS:
        return {"chance": "the same request with another seed"}
    return {"decoding": _cut_difference(compared) or "other settings (of the request)"}


def _question_difference(records: tuple[Record, Record], passes: tuple[Pass, Pass]) -> str:
    first, second = records
    if first.question != second.question:
        return f"the question: {_first_difference(first.question, second.question)}"
    return "the options differ" if _options_differ(records, passes) else ""


def _options_differ(records: tuple[Record, Record], passes: tuple[Pass, Pass]) -> bool:
    first, second = (one_pass.options or record.options for one_pass, record in zip(passes, records, strict=True))
    return first != second


def _same_reply(first: Output, second: Output) -> bool:
    if isinstance(first, Generated) and isinstance(second, Generated):
        return (first.text, first.stop_reason) == (second.text, second.stop_reason)
    if isinstance(first, Failure) and isinstance(second, Failure):
        return first.kind == second.kind
    return _content(first) == _content(second)


def _content(output: Output) -> object:
    """The content of an output, without timings."""
    content_fields = {"images", "text", "candidates", "similarities"}
    fields = [name for name in output.__struct_fields__ if name in content_fields]
    return type(output), [getattr(output, name) for name in fields]


def _same_answer(first: Answer | None, second: Answer | None) -> bool:
    """Whether both replies were parsed to the same answer, by whatever rule."""
    if isinstance(first, ParsedAnswer) and isinstance(second, ParsedAnswer):
        return first.value == second.value
    return type(first) is type(second)


def _same_verdicts(first: Pass, second: Pass) -> bool:
    return [(verdict.values, verdict.text) for verdict in first.verdicts] == [
        (verdict.values, verdict.text) for verdict in second.verdicts
    ]


def _rules_text(first: Pass, second: Pass) -> str:
    return f"read by {_rule_text(first.answer)}, and by {_rule_text(second.answer)}"


def _rule_text(answer: Answer | None) -> str:
    """The rule that parsed an answer and its result, in words."""
    if answer is None:
        return "nobody"
    kind = str(answer.__struct_config__.tag).replace("_", " ")
    rule = getattr(answer, "rule", "")
    value = f"{answer.value!r}" if isinstance(answer, ParsedAnswer) else f"as {kind}"
    return f"the rule {rule!r} ({value})" if rule else f"no rule ({value})"


def _grades_text(one_pass: Pass) -> str:
    parts = [f"{verdict.judge} {value:g}" for verdict in one_pass.verdicts for value in verdict.values.values()]
    return ", ".join(parts) or "by nobody"


def _is_cut(one_pass: Pass) -> bool:
    length = isinstance(one_pass.output, Generated) and one_pass.output.stop_reason == "length"
    return length or isinstance(one_pass.answer, Truncated)


def _media_difference(first: Sequence[str], second: Sequence[str]) -> str:
    if len(first) != len(second):
        return f"{len(first)} media, and {len(second)}"
    pairs = [pair for pair in zip(first, second, strict=True) if pair[0] != pair[1]]
    kind, _, digest = pairs[0][0].partition(" ")
    return f"{kind} {digest[:8]}, and {pairs[0][1].partition(' ')[2][:8]}"


def _first_difference(first_text: str, second_text: str) -> str:
    """The first words that differ, or the first difference in white space."""
    first_words, second_words = first_text.split(), second_text.split()
    matcher = difflib.SequenceMatcher(None, first_words, second_words, autojunk=False)
    for kind, a, b, c, d in matcher.get_opcodes():
        if kind != "equal":
            return f"{_quote(first_words[a:b])}, and {_quote(second_words[c:d])}"
    pairs = enumerate(zip(first_text, second_text, strict=False))
    index = next((index for index, (char, other) in pairs if char != other), min(len(first_text), len(second_text)))
    around = slice(max(0, index - _CONTEXT), index + _CONTEXT)
    return f"white space: {first_text[around]!r}, and {second_text[around]!r}"


def _quote(words: Sequence[str]) -> str:
    if not words:
        return "nothing"
    return "“" + " ".join(words[:_MAX_WORDS]) + ("…" if len(words) > _MAX_WORDS else "") + "”"


def _join_golds(gold: Sequence[str]) -> str:
    return " or ".join(map(repr, gold)) or "none"
