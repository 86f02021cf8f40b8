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
REPLY_CAUSES: frozenset[Cause] = frozenset({"data", "media", "prompt", "decoding", "model"})
"""Causes that act through the reply: what they do is known by asking again alone."""
SWITCHABLE: tuple[Cause, ...] = ("media", "prompt", "decoding", "model")
"""Of these, those that can be switched one by one."""

SEED_FACTS = frozenset({"seed"})
DECODING_FACTS = frozenset(
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
MEDIA_FACTS = frozenset({"images", "image_size", "video", "min_pixels", "max_pixels"})
"""Facts of a model that say how it is handed pictures."""
_PARSING_PARAMETERS = ("rule", "rule_commit", "normalisation")
_SCORING_PARAMETERS = ("circular",)


class RunRecords(NamedTuple):
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


def cause_keys(config: RunConfig, settings: frozenset[str]) -> dict[Cause, object]:
    """What of a run's settings belongs to each cause: runs with equal keys are alike in it. The
    wording of prompts and the pictures are seen in the records alone. `settings` are the facts of
    the model that do not belong to the model itself."""
    identity, parameters, facts = config.identity, config.parameters, facts_of(config)
    rest = {name: value for name, value in facts.items() if name not in settings}
    return {
        "data": config.data,
        "media": (_select(facts, MEDIA_FACTS & settings), parameters.get(CONTROL)),
        "decoding": (_select(facts, DECODING_FACTS & settings), config.max_new_tokens),
        "model": (identity.provider, identity.name, rest),
        "extraction": (_select(parameters, _PARSING_PARAMETERS), _roles(config, EXTRACTOR)),
        "judge": _roles(config, JUDGE),
        "scoring": (_select(parameters, _SCORING_PARAMETERS), config.version),
    }


def comparable_settings(first: RunConfig, second: RunConfig) -> frozenset[str]:
    """Facts of the models that are settings, which can be compared on their own: of two models
    those that both have, since what only one knows belongs to the model."""
    names = DECODING_FACTS | MEDIA_FACTS | SEED_FACTS
    if same_model(first, second):
        return names
    sampled = sampling_of(first).keys() | sampling_of(second).keys()
    return names & ((facts_of(first).keys() & facts_of(second).keys()) | sampled)


def facts_of(config: RunConfig) -> dict[str, str]:
    """The model's facts, and how the command had its replies sampled."""
    return {**config.identity.facts, **sampling_of(config)}


def sampling_of(config: RunConfig) -> dict[str, str]:
    """How the command had the model's replies sampled."""
    sampling = config.sampling.get(MAIN)
    named = {} if sampling is None else structs.asdict(sampling)
    return {name: str(value) for name, value in named.items() if value is not None}


def same_model(first: RunConfig, second: RunConfig) -> bool:
    """By provider and name."""
    mine, theirs = first.identity, second.identity
    return (mine.provider, mine.name) == (theirs.provider, theirs.name)


def find_differences(first: RunRecords, second: RunRecords) -> Differences:
    """In what the runs differ, by what they say of themselves and by what their records hold."""
    if first.info is None or second.info is None:
        unknown: frozenset[Cause] = frozenset({"media", "prompt", "decoding", "model"})
        return Differences(unknown, frozenset(), False, (0, 0))
    first_config, second_config = first.info.config, second.info.config
    settings = comparable_settings(first_config, second_config)
    first_keys, second_keys = (
        cause_keys(first_config, settings),
        cause_keys(second_config, settings),
    )
    causes = {cause for cause in first_keys if first_keys[cause] != second_keys[cause]}
    if _prompts_differ(first, second):
        causes.add("prompt")
    same = same_model(first_config, second_config)
    before, after = facts_of(first_config), facts_of(second_config)
    names = before.keys() | after.keys() if same else settings
    facts = {name for name in names if before.get(name) != after.get(name)}
    limits = (first_config.max_new_tokens, second_config.max_new_tokens)
    return Differences(frozenset(causes), frozenset(facts), same, limits)


def switched_causes(
    third: RunRecords, first: RunRecords, second: RunRecords, candidates: Iterable[Cause]
) -> frozenset[Cause]:
    """The causes of `candidates`, in which two runs differ, in which a third run is as the second.

    Raises:
        ValueError: in something it is like neither, or differs where the two do not.
    """
    assert first.info is not None
    assert second.info is not None
    assert third.info is not None
    runs = first.info.config, second.info.config, third.info.config
    settings = comparable_settings(*runs[:2])
    first_keys, second_keys, third_keys = (cause_keys(one, settings) for one in runs)
    switched: set[Cause] = set()
    for cause, key in third_keys.items():
        if key == first_keys[cause] == second_keys[cause]:
            continue
        # A longer or shorter limit that neither run has may change replies.
        if key not in (first_keys[cause], second_keys[cause]):
            raise ValueError(f"{third.name} differs from both runs in {cause}")
        if key == second_keys[cause]:
            switched.add(cause)
    switched |= _causes_switched_in_records(third, first, second)
    return frozenset(switched & set(candidates))


def _causes_switched_in_records(
    third: RunRecords, first: RunRecords, second: RunRecords
) -> set[Cause]:
    """Whether the third run's prompts and pictures are those of the second, sample by sample."""
    switched: set[Cause] = set()
    for cause, part_of in (("prompt", prompt_text), ("media", prompt_media)):
        votes = set()
        for name in first.records.keys() & second.records.keys() & third.records.keys():
            records = [side.records[name] for side in (first, second, third)]
            questions = {(one.question, *one.options.items()) for one in records}
            if len(questions) > 1 or not all(one.passes for one in records):
                continue
            mine, theirs, its = (part_of(one.passes[0].prompt) for one in records)
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


def _prompts_differ(first: RunRecords, second: RunRecords) -> bool:
    """Whether a question that is the same in both runs was put in other words."""
    for name in first.records.keys() & second.records.keys():
        one, other = first.records[name], second.records[name]
        if not one.passes or not other.passes or one.question != other.question:
            continue
        if prompt_text(one.passes[0].prompt) != prompt_text(other.passes[0].prompt):
            return True
    return False


def prompt_text(prompt: Sequence[Message]) -> str:
    return "\n".join(f"{message.role}: {message.text()}" for message in prompt)


def prompt_media(prompt: Sequence[Message]) -> list[str]:
    """Kind and digest of each."""
    return [
        f"{part.kind} {part.digest}"
        for message in prompt
        for part in message.parts
        if isinstance(part, Media)
    ]


def _select(values: Mapping[str, str], names: Iterable[str]) -> dict[str, str]:
    return {name: values[name] for name in sorted(names) if name in values}


def _roles(config: RunConfig, kind: str) -> object:
    """Who had a role, and its numbered companions (`judge`, `judge-2`), and how they were asked."""
    return {
        role: (one.digest(), config.sampling.get(role))
        for role, one in config.roles.items()
        if role.partition("-")[0] == kind
    }
