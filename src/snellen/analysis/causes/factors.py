"""What two runs were made with, cause by cause: where they differ, and which of them a third run
is like."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Literal, NamedTuple, get_args

from msgspec import structs

from snellen.benchmarks.protocol.control import OPTION as CONTROL
from snellen.benchmarks.protocol.judging import JUDGE
from snellen.core.message import Media, Message
from snellen.core.record import Record
from snellen.core.run import RunConfig, RunInfo
from snellen.engine.loop.request_broker import MAIN
from snellen.extract.llm import EXTRACTOR

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
ASKING: frozenset[Cause] = frozenset({"data", "media", "prompt", "decoding", "model"})
"""Causes that act through the reply: what they do is known by asking again alone."""
CROSSED: tuple[Cause, ...] = ("media", "prompt", "decoding", "model")
"""Of these, those that can be switched one by one."""

SEEDS = frozenset({"seed"})
DECODING = frozenset(
    {
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
)
"""Facts of a model that say how it draws its words."""
SHOWING = frozenset({"images", "image_size", "video", "min_pixels", "max_pixels"})
"""Facts of a model that say how it is handed pictures."""
_READING = ("rule", "rule_commit", "normalisation")
_SCORING = ("circular",)


class Side(NamedTuple):
    """One of two runs; `info` is None for a file of predictions, which tells replies alone."""

    name: str
    benchmark: str
    records: Mapping[str, Record]
    failures: str = "exclude"
    info: RunInfo | None = None


class Differences(NamedTuple):
    """In what two runs differ as a whole. A file of predictions may differ in anything."""

    causes: frozenset[Cause]
    """Those by the settings of the runs, and `prompt` where the same question is worded
    otherwise."""
    facts: frozenset[str]
    """Facts of the model that differ; of two models, settings that both have."""
    same_model: bool
    """By provider and name."""
    limits: tuple[int, int]
    """The longest replies, in tokens; 0 where that is not known."""


def keys(config: RunConfig, settings: frozenset[str]) -> dict[Cause, object]:
    """What of a run's settings belongs to each cause: runs with equal keys are alike in it. The
    wording of prompts and the pictures are seen in the records alone. `settings` are the facts of
    the model that do not belong to the model itself."""
    identity, parameters, facts = config.identity, config.parameters, facts_of(config)
    rest = {name: value for name, value in facts.items() if name not in settings}
    return {
        "data": config.data,
        "media": (_only(facts, SHOWING & settings), parameters.get(CONTROL)),
        "decoding": (_only(facts, DECODING & settings), config.max_new_tokens),
        "model": (identity.provider, identity.name, rest),
        "extraction": (_only(parameters, _READING), _roles(config, EXTRACTOR)),
        "judge": _roles(config, JUDGE),
        "scoring": (_only(parameters, _SCORING), config.version),
    }


def settings_of(one: RunConfig, other: RunConfig) -> frozenset[str]:
    """Facts of the models that are settings, which can be compared on their own: of two models
    those that both have, since what only one knows belongs to the model."""
    known = DECODING | SHOWING | SEEDS
    if same_model(one, other):
        return known
    asked = sampling_of(one).keys() | sampling_of(other).keys()
    return known & ((facts_of(one).keys() & facts_of(other).keys()) | asked)


def facts_of(config: RunConfig) -> dict[str, str]:
    """The model's facts, and how the command had its replies sampled."""
    return {**config.identity.facts, **sampling_of(config)}


def sampling_of(config: RunConfig) -> dict[str, str]:
    """How the command had the model's replies sampled."""
    asked = config.sampling.get(MAIN)
    named = {} if asked is None else structs.asdict(asked)
    return {name: str(value) for name, value in named.items() if value is not None}


def same_model(one: RunConfig, other: RunConfig) -> bool:
    """By provider and name."""
    mine, theirs = one.identity, other.identity
    return (mine.provider, mine.name) == (theirs.provider, theirs.name)


def differences(first: Side, second: Side) -> Differences:
    """In what the runs differ, by what they say of themselves and by what their records hold."""
    if first.info is None or second.info is None:
        unknown: frozenset[Cause] = frozenset({"media", "prompt", "decoding", "model"})
        return Differences(unknown, frozenset(), False, (0, 0))
    one, other = first.info.config, second.info.config
    settings = settings_of(one, other)
    mine, theirs = keys(one, settings), keys(other, settings)
    causes = {cause for cause in mine if mine[cause] != theirs[cause]}
    if _worded_otherwise(first, second):
        causes.add("prompt")
    same = same_model(one, other)
    before, after = facts_of(one), facts_of(other)
    names = before.keys() | after.keys() if same else settings
    facts = {name for name in names if before.get(name) != after.get(name)}
    limits = (one.max_new_tokens, other.max_new_tokens)
    return Differences(frozenset(causes), frozenset(facts), same, limits)


def side_of(third: Side, first: Side, second: Side, apart: Iterable[Cause]) -> frozenset[Cause]:
    """The causes of `apart`, in which two runs differ, in which a third run is as the second.

    Raises:
        ValueError: in something it is like neither, or differs where the two do not.
    """
    assert first.info is not None
    assert second.info is not None
    assert third.info is not None
    runs = first.info.config, second.info.config, third.info.config
    settings = settings_of(*runs[:2])
    mine, theirs, its = (keys(one, settings) for one in runs)
    switched: set[Cause] = set()
    for cause, key in its.items():
        if key == mine[cause] == theirs[cause]:
            continue
        # A longer or shorter limit that neither run has may change replies.
        if key not in (mine[cause], theirs[cause]):
            raise ValueError(f"{third.name} differs from both runs in {cause}")
        if key == theirs[cause]:
            switched.add(cause)
    switched |= _shown_as_second(third, first, second)
    return frozenset(switched & set(apart))


def _shown_as_second(third: Side, first: Side, second: Side) -> set[Cause]:
    """Whether the third run's prompts and pictures are those of the second, sample by sample."""
    switched: set[Cause] = set()
    for cause, look in (("prompt", words_of), ("media", media_of)):
        votes = set()
        for name in first.records.keys() & second.records.keys() & third.records.keys():
            records = [side.records[name] for side in (first, second, third)]
            asks = {(one.question, *one.options.items()) for one in records}
            if len(asks) > 1 or not all(one.passes for one in records):
                continue
            mine, theirs, its = (look(one.passes[0].prompt) for one in records)
            if its == mine == theirs:
                continue
            if its not in (mine, theirs):
                raise ValueError(f"{third.name} differs from both runs in {cause}")
            votes.add(its == theirs)
        if len(votes) > 1:
            raise ValueError(f"{third.name} is like each of the runs in part of its {cause}")
        if votes == {True}:
            switched.add("prompt" if cause == "prompt" else "media")
    return switched


def _worded_otherwise(first: Side, second: Side) -> bool:
    """Whether a question that is the same in both runs was put in other words."""
    for name in first.records.keys() & second.records.keys():
        one, other = first.records[name], second.records[name]
        if not one.passes or not other.passes or one.question != other.question:
            continue
        if words_of(one.passes[0].prompt) != words_of(other.passes[0].prompt):
            return True
    return False


def words_of(prompt: Sequence[Message]) -> str:
    return "\n".join(f"{message.role}: {message.text()}" for message in prompt)


def media_of(prompt: Sequence[Message]) -> list[str]:
    """Kind and digest of each."""
    return [
        f"{part.kind} {part.digest}"
        for message in prompt
        for part in message.parts
        if isinstance(part, Media)
    ]


def _only(values: Mapping[str, str], names: Iterable[str]) -> dict[str, str]:
    return {name: values[name] for name in sorted(names) if name in values}


def _roles(config: RunConfig, kind: str) -> object:
    """Who had a role, and its numbered companions (`judge`, `judge-2`), and how they were asked."""
    return {
        role: (one.digest(), config.sampling.get(role))
        for role, one in config.roles.items()
        if role.partition("-")[0] == kind
    }
