"""What may have made one sample score differently in two runs.

Looked at is the pass that decided: the first in which one run is right and the other is not, else
the first that differs in anything. What is equal there blocks everything before it, since it cannot
have mattered:

* The replies are equal, or were read as the same answer in the same way and no judge graded them:
  only the reading is left. `extraction` where the answers read differ (`data` where the options
  differ, `judge` where a judge read them), `data` where the gold differs, `judge` where verdicts
  do, else `scoring` (another metric, or another number of passes).
* A request failed in one run: `failures`.
* Else everything that differs about the sample may have mattered, and each is named: the question,
  its options or its gold (`data`); the media, by their digests, or how the model is handed them
  (`media`); the messages (`prompt`); the settings, or a limit that a reply has reached
  (`decoding`); the model; and who or what read the replies. Where nothing differs the same model
  was asked the same: `chance`.

Which of several causes moved the score is not decided here (`snellen.analysis.causes.attribution`).
"""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from typing import NamedTuple

from snellen.analysis.causes.factors import (
    DECODING,
    SEEDS,
    SHOWING,
    Cause,
    Differences,
    Side,
    media_of,
    words_of,
)
from snellen.core.answer import Answer, Found, Truncated
from snellen.core.output import Failure, Generated, Output
from snellen.core.record import Pass, Record

_WORDS = 12
_AROUND = 12
"""Words shown of a difference, and characters around one in white space."""


class Change(NamedTuple):
    """What may have moved a sample's score.

    `asking` are causes that act through the reply, and `blocked` says that they moved nothing,
    since the replies were equal or read alike; `reading` are those that act on a reply that is
    there. `at` is the number of the pass that decided, from 0.
    """

    asking: frozenset[Cause]
    reading: frozenset[Cause]
    blocked: bool
    details: dict[Cause, str]
    at: int

    @property
    def causes(self) -> frozenset[Cause]:
        """Those that may have moved the score where only these two runs are known."""
        return self.reading if self.blocked else self.asking | self.reading


def change(first: Side, second: Side, differ: Differences, one: Record, other: Record) -> Change:
    """What differs about a sample that both runs counted."""
    for record, name in ((one, "first"), (other, "second")):
        if record.score is None:
            return _failed(f"{record.unscored} in the {name} run", 0)
    at = _decisive(one, other)
    if at is None:
        details = _no_pass_differs(one, other)
        asking = _given(first, second, differ, one, other, 0) if one.passes and other.passes else {}
        return Change(frozenset(asking), frozenset(details), True, {**asking, **details}, 0)
    mine, theirs = passes_of(one)[at], passes_of(other)[at]
    if isinstance(mine.output, Failure) != isinstance(theirs.output, Failure):
        return _failed("a request failed", at)
    asking = _given(first, second, differ, one, other, at)
    graded = mine.verdicts or theirs.verdicts
    same_reply = _same_reply(mine.output, theirs.output)
    read_alike = not graded and "extraction" not in differ.causes
    if same_reply or (read_alike and _same_answer(mine.answer, theirs.answer)):
        reading = _read_otherwise(one, other, mine, theirs, same_reply, _data(first, second))
        return Change(frozenset(asking), frozenset(reading), True, {**asking, **reading}, at)
    asking = asking or _nothing_given(first, second, differ, one, other, at)
    reading = _readers(differ, one, other, mine, theirs, _data(first, second))
    # Gold that changed with the question itself is no cause of its own.
    alone = frozenset(reading) - frozenset(asking)
    return Change(frozenset(asking), alone, False, {**reading, **asking}, at)


def _failed(detail: str, at: int) -> Change:
    return Change(frozenset(), frozenset({"failures"}), True, {"failures": detail}, at)


def _data(first: Side, second: Side) -> Cause:
    """The cause of another question, other options or another gold: over the same data these come
    from how the questions are put, such as options in another order."""
    if first.info is None or second.info is None:
        return "data"
    return "data" if first.info.config.data != second.info.config.data else "prompt"


def _decisive(one: Record, other: Record) -> int | None:
    pairs = list(zip(passes_of(one), passes_of(other), strict=False))
    for at, (mine, theirs) in enumerate(pairs):
        if (mine.correct, mine.credit) != (theirs.correct, theirs.credit):
            return at
    for at, (mine, theirs) in enumerate(pairs):
        if not _same_reply(mine.output, theirs.output) or not _same_verdicts(mine, theirs):
            return at
    return None


def _no_pass_differs(one: Record, other: Record) -> dict[Cause, str]:
    if len(one.repeats) != len(other.repeats):
        times = [max(1, len(record.repeats)) for record in (one, other)]
        return {"chance": f"asked {times[0]} and {times[1]} times, equal as far as both go"}
    if len(one.passes) != len(other.passes):
        return {
            "scoring": f"{len(one.passes)} and {len(other.passes)} passes, equal as far as both go"
        }
    return {"scoring": "equal in every pass, scored by another rule"}


def passes_of(record: Record) -> list[Pass]:
    """The passes of all draws of a sample, those of the first draw first."""
    later = (one.passes for one in record.repeats[1:])
    return [*record.passes, *(one for passes in later for one in passes)]


def _read_otherwise(
    one: Record, other: Record, mine: Pass, theirs: Pass, same_reply: bool, data: Cause
) -> dict[Cause, str]:
    """The same reply, or another that was read alike: everything about the reading that differs."""
    found: dict[Cause, str] = {}
    options_differ = _options(one, mine) != _options(other, theirs)
    if not _same_answer(mine.answer, theirs.answer):
        if options_differ:
            found[data] = "the options differ"
        elif not _same_verdicts(mine, theirs):
            found["judge"] = "a judge read the same reply otherwise"
        else:
            found["extraction"] = f"read by {_rule(mine.answer)}, and by {_rule(theirs.answer)}"
    elif same_reply and not _same_verdicts(mine, theirs):
        found["judge"] = f"graded {_grades(mine)}, and {_grades(theirs)}"
    golds = _gold(one, other, mine, theirs)
    if golds:
        found.setdefault(data, golds)
    if not found and options_differ and same_reply:
        found[data] = "the options differ"
    return found or {"scoring": "the same answer, scored otherwise"}


def _readers(
    differ: Differences, one: Record, other: Record, mine: Pass, theirs: Pass, data: Cause
) -> dict[Cause, str]:
    """Another reply: what would have read the same one otherwise."""
    found: dict[Cause, str] = {}
    if "extraction" in differ.causes:
        found["extraction"] = f"read by {_rule(mine.answer)}, and by {_rule(theirs.answer)}"
    if "judge" in differ.causes and (mine.verdicts or theirs.verdicts):
        found["judge"] = f"graded {_grades(mine)}, and {_grades(theirs)}"
    if "scoring" in differ.causes:
        found["scoring"] = "scored by another rule"
    golds = _gold(one, other, mine, theirs)
    if golds:
        found[data] = golds
    return found


def _gold(one: Record, other: Record, mine: Pass, theirs: Pass) -> str:
    golds = [here.gold or whole.gold for here, whole in ((mine, one), (theirs, other))]
    if golds[0] == golds[1]:
        return ""
    return f"the gold answer was {_listed(golds[0])}, and is {_listed(golds[1])}"


def _given(
    first: Side, second: Side, differ: Differences, one: Record, other: Record, at: int
) -> dict[Cause, str]:
    """Everything about the asking that differs, with words for each."""
    mine, theirs = passes_of(one)[at], passes_of(other)[at]
    if at >= min(len(one.passes), len(other.passes)):
        # A later draw was shown what the first was, and leaves it out.
        shown = one.passes[0], other.passes[0]
    else:
        shown = mine, theirs
    found: dict[Cause, str] = {}
    data = _data(first, second)
    asks_else = _question(one, other, *shown)
    if asks_else:
        found[data] = asks_else
    if first.info is None or second.info is None:
        told = "another reply; what was asked, shown and set is unknown"
        unknown: tuple[Cause, ...] = ("media", "prompt", "decoding", "model")
        return {**found, **dict.fromkeys(unknown, told)}
    media = [media_of(one.prompt) for one in shown]
    if media[0] != media[1]:
        found["media"] = _media_told(*media)
    elif differ.facts & SHOWING:
        how = ", ".join(sorted(differ.facts & SHOWING))
        found["media"] = f"the model was handed its pictures otherwise ({how})"
    at_worded = _worded_at(one, other, at)
    if at_worded is not None and ("data" not in found or "prompt" in differ.causes):
        texts = words_of(one.passes[at_worded].prompt), words_of(other.passes[at_worded].prompt)
        found.setdefault("prompt", _words(*texts))
    decoding = _decoding(first, second, differ, mine, theirs)
    if decoding:
        found["decoding"] = decoding
    if "model" in differ.causes:
        versions = differ.facts - DECODING - SEEDS - SHOWING
        found["model"] = (
            f"another version of the model ({', '.join(sorted(versions))})"
            if differ.same_model
            else "another model"
        )
    return found


def _worded_at(one: Record, other: Record, at: int) -> int | None:
    """The first pass whose messages differ without an earlier reply that does: what is asked later
    may hold what was replied before. None where there is none."""
    for place, (mine, theirs) in enumerate(zip(one.passes, other.passes, strict=False)):
        if place > at:
            return None
        if words_of(mine.prompt) != words_of(theirs.prompt):
            return place
        if not _same_reply(mine.output, theirs.output):
            return None
    return None


def _decoding(first: Side, second: Side, differ: Differences, mine: Pass, theirs: Pass) -> str:
    """Whether settings differ that can have changed the reply, in words."""
    facts = differ.facts & DECODING
    if facts:
        return f"other settings ({', '.join(sorted(facts))})"
    if "decoding" not in differ.causes:
        return ""
    limits = differ.limits
    if limits[0] == limits[1]:
        return "other settings"
    if not any(_reaches(one.output, min(limits)) for one in (mine, theirs)):
        # Neither reply is so long that the lower limit could have cut it.
        return ""
    cut = [_cut(mine), _cut(theirs)]
    if cut[0] != cut[1]:
        return f"the {'first' if cut[0] else 'second'} run's reply was cut at the token limit"
    return f"at most {limits[0]} tokens, and {limits[1]}"


def _reaches(output: Output, limit: int) -> bool:
    """Whether a reply is, or may be, as long as a limit in tokens."""
    if not isinstance(output, Generated):
        return True
    if output.stop_reason == "length":
        return True
    if output.usage is not None and output.usage.completion_tokens:
        return output.usage.completion_tokens >= limit
    # A token is a byte at least.
    return len((output.text + (output.reasoning or "")).encode()) >= limit


def _nothing_given(
    first: Side, second: Side, differ: Differences, one: Record, other: Record, at: int
) -> dict[Cause, str]:
    """Another reply of one model to the same question: a setting of the request, or chance."""
    mine, theirs = passes_of(one)[at], passes_of(other)[at]
    if one.requests[:1] == other.requests[:1] != ():
        return {"chance": "the same request, another reply"}
    if differ.facts and differ.facts <= SEEDS:
        return {"chance": "the same request with another seed"}
    cut = [_cut(mine), _cut(theirs)]
    if cut[0] != cut[1]:
        which = "first" if cut[0] else "second"
        return {"decoding": f"the {which} run's reply was cut at the token limit"}
    return {"decoding": "other settings (of the request)"}


def _question(one: Record, other: Record, mine: Pass, theirs: Pass) -> str:
    if one.question != other.question:
        return f"the question: {_words(one.question, other.question)}"
    if _options(one, mine) != _options(other, theirs):
        return "the options differ"
    return ""


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


def _media_told(mine: Sequence[str], theirs: Sequence[str]) -> str:
    if len(mine) != len(theirs):
        return f"{len(mine)} media were shown, and {len(theirs)}"
    pairs = [pair for pair in zip(mine, theirs, strict=True) if pair[0] != pair[1]]
    kind, _, digest = pairs[0][0].partition(" ")
    return f"{kind} {digest[:8]} was shown, and {pairs[0][1].partition(' ')[2][:8]}"


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
