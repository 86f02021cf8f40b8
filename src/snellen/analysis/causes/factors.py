"""Settings of runs by cause: in which causes two runs differ, and in which a third run equals one
of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Literal, NamedTuple, get_args

from msgspec import structs

from snellen.benchmarks.protocol.control import OPTION as CONTROL
from snellen.benchmarks.protocol.judging import JUDGE
from snellen.core.record import Record
from snellen.core.request import Media, Message
from snellen.core.run import RunConfig, RunInfo
from snellen.engine.loop.request_broker import MAIN
from snellen.extract.llm import EXTRACTOR

Cause = Literal["data", "media", "prompt", "failures", "decoding", "model", "chance", "extraction", "judge", "scoring"]
CAUSES: tuple[Cause, ...] = get_args(Cause)
REPLY_CAUSES: frozenset[Cause] = frozenset({"data", "media", "prompt", "decoding", "model"})
"""Causes that act through the reply: their effect is known only by asking again."""
SWITCHABLE: tuple[Cause, ...] = ("media", "prompt", "decoding", "model")
"""The reply causes that can be switched one by one."""
_ROLE_CAUSES: Mapping[Cause, str] = {"extraction": EXTRACTOR, "judge": JUDGE}
"""Causes that another model may be, by its role: stored replies are given to it again."""

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
        "presence_penalty",
        "thinking",
        "reasoning_effort",
        "body.temperature",
        "body.top_p",
        "body.top_k",
        "body.repetition_penalty",
        "body.presence_penalty",
        "body.chat_template_kwargs.enable_thinking",
    }
)
"""Facts of a model that describe how it samples tokens."""
MEDIA_FACTS = frozenset(
    {
        "images",
        "image_size",
        "video",
        "min_pixels",
        "max_pixels",
        "body.mm_processor_kwargs.min_pixels",
        "body.mm_processor_kwargs.max_pixels",
    }
)
"""Facts of a model that describe how it gets its images."""
PARSING_PARAMETERS = ("rule", "rule_commit", "normalisation")
SCORING_PARAMETERS = ("circular",)
"""Parameters of how replies are parsed, and of how answers are scored."""


class RunRecords(NamedTuple):
    """The records of one of two runs; `info` is None for a file of predictions, which has replies
    only."""

    name: str
    benchmark: str
    records: Mapping[str, Record]
    failures: str = "exclude"
    info: RunInfo | None = None


class Differences(NamedTuple):
    """In what two runs differ. A file of predictions may differ in anything."""

    causes: frozenset[Cause]
    """Causes whose settings differ, and `prompt` if the same question has different messages."""
    facts: frozenset[str]
    """Facts of the model that differ; for two models, among the settings that both have."""
    same_model: bool
    """By provider and name."""
    limits: tuple[int, int]
    """The maximum reply lengths, in tokens; 0 if unknown."""


def cause_keys(config: RunConfig, settings: frozenset[str]) -> dict[Cause, object]:
    """The part of a run's settings that belongs to each cause: runs with equal keys are equal in
    it. Messages and images are compared in the records instead. `settings` are the facts of the
    model that are settings, not part of its identity."""
    identity, parameters, facts = config.identity, config.parameters, facts_of(config)
    model_facts = {name: value for name, value in facts.items() if name not in settings}
    return {
        "data": config.data,
        "media": (_select(facts, MEDIA_FACTS & settings), parameters.get(CONTROL)),
        "decoding": (_select(facts, DECODING_FACTS & settings), config.max_new_tokens, config.extend_truncated),
        "model": (identity.provider, identity.name, model_facts),
        "extraction": (_select(parameters, PARSING_PARAMETERS), _roles(config, EXTRACTOR)),
        "judge": _roles(config, JUDGE),
        "scoring": (_select(parameters, SCORING_PARAMETERS), config.version),
    }


def crossable_causes(first: RunRecords, second: RunRecords, differences: Differences) -> tuple[Cause, ...]:
    """The causes in which the runs differ that asking can tell apart: those of the reply, and other
    extractors or judges of the same replies."""
    causes = [cause for cause in SWITCHABLE if cause in differences.causes]
    if first.info is not None and second.info is not None:
        configs = first.info.config, second.info.config
        causes += [
            cause for cause, kind in _ROLE_CAUSES.items() if _roles(configs[0], kind) != _roles(configs[1], kind)
        ]
    return tuple(causes)


def role_cause(role: str) -> Cause | None:
    """The cause that a role's model belongs to: of `judge-2`, `judge`; None: of no cause."""
    kind = role.partition("-")[0]
    return next((cause for cause, name in _ROLE_CAUSES.items() if name == kind), None)


def comparable_settings(first: RunConfig, second: RunConfig) -> frozenset[str]:
    """Facts of the models that are settings and can be compared on their own: for two models those
    that both have, since a fact that only one has belongs to the model."""
    names = DECODING_FACTS | MEDIA_FACTS | SEED_FACTS
    if same_model(first, second):
        return names
    sampled = sampling_of(first).keys() | sampling_of(second).keys()
    return names & ((facts_of(first).keys() & facts_of(second).keys()) | sampled)


def facts_of(config: RunConfig) -> dict[str, str]:
    """The model's facts, and the sampling settings of the command."""
    return {**config.identity.facts, **sampling_of(config)}


def sampling_of(config: RunConfig) -> dict[str, str]:
    """The sampling settings that the command set for the model."""
    sampling = config.sampling.get(MAIN)
    named = {} if sampling is None else structs.asdict(sampling)
    return {name: str(value) for name, value in named.items() if value is not None}


def same_model(first: RunConfig, second: RunConfig) -> bool:
    """Whether provider and name are equal."""
    first_identity, second_identity = first.identity, second.identity
    return (first_identity.provider, first_identity.name) == (second_identity.provider, second_identity.name)


def find_differences(first: RunRecords, second: RunRecords) -> Differences:
    """In what the runs differ, by their settings and by their records."""
    if first.info is None or second.info is None:
        unknown: frozenset[Cause] = frozenset({"media", "prompt", "decoding", "model"})
        return Differences(unknown, frozenset(), False, (0, 0))
    first_config, second_config = first.info.config, second.info.config
    settings = comparable_settings(first_config, second_config)
    first_keys, second_keys = (cause_keys(first_config, settings), cause_keys(second_config, settings))
    causes = {cause for cause in first_keys if first_keys[cause] != second_keys[cause]}
    if _prompts_differ(first, second):
        causes.add("prompt")
    same = same_model(first_config, second_config)
    before, after = facts_of(first_config), facts_of(second_config)
    names = before.keys() | after.keys() if same else settings
    facts = {name for name in names if before.get(name) != after.get(name)}
    limits = (first_config.longest_reply, second_config.longest_reply)
    return Differences(frozenset(causes), frozenset(facts), same, limits)


def switched_causes(
    third: RunRecords, first: RunRecords, second: RunRecords, candidates: Iterable[Cause]
) -> frozenset[Cause]:
    """The causes among `candidates`, in which two runs differ, in which a third run equals the
    second. Raises ValueError if it equals neither in some cause, or differs where the two do
    not.
    """
    assert first.info is not None
    assert second.info is not None
    assert third.info is not None
    runs = first.info.config, second.info.config, third.info.config
    settings = comparable_settings(*runs[:2])
    first_keys, second_keys, third_keys = (cause_keys(config, settings) for config in runs)
    switched: set[Cause] = set()
    for cause, key in third_keys.items():
        if key == first_keys[cause] == second_keys[cause]:
            continue
        # Neither as in the first nor as in the second run, such as a third token limit: the run
        # cannot tell the effect of this cause.
        if key not in (first_keys[cause], second_keys[cause]):
            raise ValueError(f"{third.name} differs from both runs in {cause}")
        if key == second_keys[cause]:
            switched.add(cause)
    switched |= _causes_switched_in_records(third, first, second)
    return frozenset(switched & set(candidates))


def _causes_switched_in_records(third: RunRecords, first: RunRecords, second: RunRecords) -> set[Cause]:
    """Whether the third run's prompts and images equal those of the second, sample by sample."""
    switched: set[Cause] = set()
    for cause, part_of in (("prompt", prompt_text), ("media", prompt_media)):
        votes = set()
        for name in first.records.keys() & second.records.keys() & third.records.keys():
            records = [side.records[name] for side in (first, second, third)]
            questions = {(record.question, *record.options.items()) for record in records}
            if len(questions) > 1 or not all(record.passes for record in records):
                continue
            first_part, second_part, third_part = (part_of(record.passes[0].prompt) for record in records)
            if third_part == first_part == second_part:
                continue
            if third_part not in (first_part, second_part):
                raise ValueError(f"{third.name} differs from both runs in {cause}")
            votes.add(third_part == second_part)
        if len(votes) > 1:
            raise ValueError(f"{third.name} is like each of the runs in part of its {cause}")
        if votes == {True}:
            switched.add("prompt" if cause == "prompt" else "media")
    return switched


def _prompts_differ(first: RunRecords, second: RunRecords) -> bool:
    """Whether a question that is the same in both runs has different messages."""
    for name in first.records.keys() & second.records.keys():
        first_record, second_record = first.records[name], second.records[name]
        if not first_record.passes or not second_record.passes or first_record.question != second_record.question:
            continue
        if prompt_text(first_record.passes[0].prompt) != prompt_text(second_record.passes[0].prompt):
            return True
    return False


def prompt_text(prompt: Sequence[Message]) -> str:
    """The text of all messages, with their roles."""
    return "\n".join(f"{message.role}: {message.text()}" for message in prompt)


def prompt_media(prompt: Sequence[Message]) -> list[str]:
    """Kind and digest of each medium."""
    return [f"{part.kind} {part.digest}" for message in prompt for part in message.parts if isinstance(part, Media)]


def _select(values: Mapping[str, str], names: Iterable[str]) -> dict[str, str]:
    return {name: values[name] for name in sorted(names) if name in values}


def _roles(config: RunConfig, kind: str) -> object:
    """The models of a role and its numbered companions (`judge`, `judge-2`), with their
    sampling."""
    return {
        role: (identity.digest(), config.sampling.get(role))
        for role, identity in config.roles.items()
        if role.partition("-")[0] == kind
    }
