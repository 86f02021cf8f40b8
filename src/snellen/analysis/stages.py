"""What made one sample score differently in two runs: the stage where they part.

Looked at is the pass that decided: the first in which one run is right and the other is not, else
the first that differs in anything. From its end backwards: what is equal there blocks everything
before it, since it cannot have mattered.

* The replies are equal. The answers read differ: `extraction` (`data` where the options differ,
  `judge` where a judge read them). The answers are equal too: `data` where the gold differs,
  `judge` where verdicts do, else `scoring` (another metric, or another number of passes).
* The replies differ but were read as the same answer, and no judge graded the replies: `data`
  where the gold differs, else `scoring`.
* The replies and the answers differ. The first that differs of: the question, its options or its
  gold (`data`); the media, by their digests, or how the model is handed them (`media`); the
  messages (`prompt`); a failed request (`failures`). If none does and the digests of the requests
  are equal, the same model was asked the same with the same settings: `chance`, which two runs of
  a model that differ in its seed alone have too. Else `decoding` where only one reply was cut at
  the token limit or where the same model was asked with other settings; and `model` where nothing
  but the model is left.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple, get_args

from snellen.core.answer import Answer, Found, Truncated
from snellen.core.message import Media, Message
from snellen.core.output import Failure, Generated, Output
from snellen.core.record import Pass, Record
from snellen.core.run import RunInfo

Cause = Literal[
    "data",
    "media",
    "prompt",
    "failures",
    "decoding",
    "model",
    "chance",
    "extraction",
    "judge",
    "scoring",
]
CAUSES: tuple[Cause, ...] = get_args(Cause)

_CHANCE = {"seed"}
_DECODING = {
    "temperature",
    "top_p",
    "top_k",
    "min_p",
    "sampling",
    "max_new_tokens",
    "num_beams",
    "repetition_penalty",
    "reasoning_effort",
    "body.temperature",
    "body.top_p",
    "body.top_k",
}
_SHOWN = {"images", "image_size", "video", "min_pixels", "max_pixels"}
"""Facts of a model that say how it draws its words, and how it is handed pictures."""
_WORDS = 12
_AROUND = 12
"""Words shown of a difference, and characters around one in white space."""


class Side(NamedTuple):
    """One of two runs; `info` is None for a file of predictions, which tells replies alone."""

    name: str
    benchmark: str
    records: Mapping[str, Record]
    failures: str = "exclude"
    info: RunInfo | None = None


class Finding(NamedTuple):
    """`at` is the number of the pass that decided, from 0."""

    cause: Cause
    detail: str
    at: int


def finding(first: Side, second: Side, one: Record, other: Record) -> Finding:
    """The cause of a difference in score of one sample."""
    for record, name in ((one, "first"), (other, "second")):
        if record.score is None:
            return Finding("failures", f"{record.unscored} in the {name} run", 0)
    at = _decisive(one, other)
    if at is None:
        return Finding("scoring", _passes(one, other), 0)
    return Finding(*_cause(first, second, one, other, at), at)


def _decisive(one: Record, other: Record) -> int | None:
    pairs = list(zip(one.passes, other.passes, strict=False))
    for at, (mine, theirs) in enumerate(pairs):
        if (mine.correct, mine.credit) != (theirs.correct, theirs.credit):
            return at
    for at, (mine, theirs) in enumerate(pairs):
        if not _same_reply(mine.output, theirs.output) or not _same_verdicts(mine, theirs):
            return at
    return None


def _passes(one: Record, other: Record) -> str:
    if len(one.passes) != len(other.passes):
        return f"{len(one.passes)} and {len(other.passes)} passes, equal as far as both go"
    return "equal in every pass, scored by another rule"


def _cause(first: Side, second: Side, one: Record, other: Record, at: int) -> tuple[Cause, str]:
    mine, theirs = one.passes[at], other.passes[at]
    if not _same_reply(mine.output, theirs.output):
        graded = mine.verdicts or theirs.verdicts
        if graded or not _same_answer(mine.answer, theirs.answer):
            return _upstream(first, second, one, other, at)
        return _gold(one, other, mine, theirs) or ("scoring", "the same answer, scored otherwise")
    if not _same_answer(mine.answer, theirs.answer):
        if _options(one, mine) != _options(other, theirs):
            return "data", "the options differ"
        if not _same_verdicts(mine, theirs):
            return "judge", "a judge read the same reply otherwise"
        return "extraction", f"read by {_rule(mine.answer)}, and by {_rule(theirs.answer)}"
    changed = _gold(one, other, mine, theirs)
    if changed is not None:
        return changed
    if not _same_verdicts(mine, theirs):
        return "judge", f"graded {_grades(mine)}, and {_grades(theirs)}"
    if _options(one, mine) != _options(other, theirs):
        return "data", "the options differ"
    return "scoring", "the same answer, scored otherwise"


def _gold(one: Record, other: Record, mine: Pass, theirs: Pass) -> tuple[Cause, str] | None:
    golds = [here.gold or whole.gold for here, whole in ((mine, one), (theirs, other))]
    if golds[0] == golds[1]:
        return None
    return "data", f"the gold answer was {_listed(golds[0])}, and is {_listed(golds[1])}"


def _upstream(first: Side, second: Side, one: Record, other: Record, at: int) -> tuple[Cause, str]:
    """The replies differ: what the model was given, or how it was asked, or the model."""
    mine, theirs = one.passes[at], other.passes[at]
    changed = _data(one, other, mine, theirs)
    if changed:
        return "data", changed
    asked = first.info is not None and second.info is not None
    if asked and _media(mine.prompt) != _media(theirs.prompt):
        return "media", _media_told(_media(mine.prompt), _media(theirs.prompt))
    facts = _facts(first, second)
    if asked and facts and facts <= _SHOWN:
        return "media", f"the model was handed its pictures otherwise ({', '.join(sorted(facts))})"
    if asked and _text(mine.prompt) != _text(theirs.prompt):
        return "prompt", _words(_text(mine.prompt), _text(theirs.prompt))
    if isinstance(mine.output, Failure) != isinstance(theirs.output, Failure):
        return "failures", "a request failed"
    return _reply(first, second, one, other, at, facts)


def _reply(
    first: Side, second: Side, one: Record, other: Record, at: int, facts: set[str] | None
) -> tuple[Cause, str]:
    """The model was given the same: settings, chance, or another model."""
    mine, theirs = one.passes[at], other.passes[at]
    asked = first.info is not None and second.info is not None
    same_request = asked and one.requests[:1] == other.requests[:1] != ()
    if same_request and one.passes[0].prompt == other.passes[0].prompt:
        return "chance", "the same request, another reply"
    cut = [_cut(mine), _cut(theirs)]
    if cut[0] != cut[1]:
        which = "first" if cut[0] else "second"
        return "decoding", f"the {which} run's reply was cut at the token limit"
    if first.info is None or second.info is None or facts is None:
        return "model", "another model" if asked else "another reply"
    if facts and facts <= _CHANCE:
        return "chance", "the same request with another seed"
    if not facts or facts <= _CHANCE | _DECODING:
        return "decoding", f"other settings ({', '.join(sorted(facts)) or 'of the request'})"
    return "model", f"another version of the model ({', '.join(sorted(facts))})"


def _facts(first: Side, second: Side) -> set[str] | None:
    """Facts in which two runs of one model differ; None for two models, or where unknown."""
    if first.info is None or second.info is None:
        return None
    mine, theirs = first.info.config.identity, second.info.config.identity
    if (mine.provider, mine.name) != (theirs.provider, theirs.name):
        return None
    names = mine.facts.keys() | theirs.facts.keys()
    return {name for name in names if mine.facts.get(name) != theirs.facts.get(name)}


def _data(one: Record, other: Record, mine: Pass, theirs: Pass) -> str:
    if one.question != other.question:
        return f"the question: {_words(one.question, other.question)}"
    if _options(one, mine) != _options(other, theirs):
        return "the options differ"
    changed = _gold(one, other, mine, theirs)
    return changed[1] if changed else ""


def _options(record: Record, one: Pass) -> dict[str, str]:
    return one.options or record.options


def _same_reply(mine: Output, theirs: Output) -> bool:
    if isinstance(mine, Generated) and isinstance(theirs, Generated):
        return (mine.text, mine.stop_reason) == (theirs.text, theirs.stop_reason)
    if isinstance(mine, Failure) and isinstance(theirs, Failure):
        return mine.kind == theirs.kind
    return _bare(mine) == _bare(theirs)


def _bare(output: Output) -> object:
    """What was said, without how long it took."""
    said = {"images", "text", "candidates", "similarities"}
    fields = [name for name in output.__struct_fields__ if name in said]
    return type(output), [getattr(output, name) for name in fields]


def _same_answer(mine: Answer | None, theirs: Answer | None) -> bool:
    """Whether both were read alike, by whatever rule."""
    if isinstance(mine, Found) and isinstance(theirs, Found):
        return mine.value == theirs.value
    return type(mine) is type(theirs)


def _same_verdicts(mine: Pass, theirs: Pass) -> bool:
    return [(one.values, one.text) for one in mine.verdicts] == [
        (one.values, one.text) for one in theirs.verdicts
    ]


def _rule(answer: Answer | None) -> str:
    if answer is None:
        return "nobody"
    kind = str(answer.__struct_config__.tag).replace("_", " ")
    rule = getattr(answer, "rule", "")
    value = f"{answer.value!r}" if isinstance(answer, Found) else f"as {kind}"
    return f"the rule {rule!r} ({value})" if rule else f"no rule ({value})"


def _grades(one: Pass) -> str:
    parts = [f"{verdict.judge} {value:g}" for verdict in one.verdicts for value in
             verdict.values.values()]  # fmt: skip
    return ", ".join(parts) or "by nobody"


def _cut(one: Pass) -> bool:
    length = isinstance(one.output, Generated) and one.output.stop_reason == "length"
    return length or isinstance(one.answer, Truncated)


def _media(prompt: Sequence[Message]) -> list[str]:
    return [
        f"{part.kind} {part.digest}"
        for message in prompt
        for part in message.parts
        if isinstance(part, Media)
    ]


def _media_told(mine: Sequence[str], theirs: Sequence[str]) -> str:
    if len(mine) != len(theirs):
        return f"{len(mine)} media were shown, and {len(theirs)}"
    pairs = [pair for pair in zip(mine, theirs, strict=True) if pair[0] != pair[1]]
    kind, _, digest = pairs[0][0].partition(" ")
    return f"{kind} {digest[:8]} was shown, and {pairs[0][1].partition(' ')[2][:8]}"


def _text(prompt: Sequence[Message]) -> str:
    return "\n".join(f"{message.role}: {message.text()}" for message in prompt)


def _words(mine: str, theirs: str) -> str:
    """The first words that differ."""
    first, second = mine.split(), theirs.split()
    matcher = difflib.SequenceMatcher(None, first, second, autojunk=False)
    for kind, a, b, c, d in matcher.get_opcodes():
        if kind != "equal":
            return f"{_quoted(first[a:b])}, and {_quoted(second[c:d])}"
    pairs = enumerate(zip(mine, theirs, strict=False))
    at = next((place for place, (one, other) in pairs if one != other), min(len(mine), len(theirs)))
    around = slice(max(0, at - _AROUND), at + _AROUND)
    return f"white space: {mine[around]!r}, and {theirs[around]!r}"


def _quoted(words: Sequence[str]) -> str:
    if not words:
        return "nothing"
    return "“" + " ".join(words[:_WORDS]) + ("…" if len(words) > _WORDS else "") + "”"


def _listed(gold: Sequence[str]) -> str:
    return " or ".join(map(repr, gold)) or "none"
