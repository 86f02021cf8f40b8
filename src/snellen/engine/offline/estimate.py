"""What a run would ask and cost, told without asking."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import msgspec
from msgspec import Struct

from snellen.core.output import Compared, Drawn, Failure, Generated, Ranked
from snellen.core.sample import Sample
from snellen.engine.anytime.early_stop import Duel, Precision
from snellen.engine.anytime.forecast import contest_told, stop_of
from snellen.engine.anytime.headline_weights import headline_weights
from snellen.engine.anytime.sample_order import units_in_order
from snellen.engine.loop.plan import Plan, chosen_ids
from snellen.engine.offline.dry_run import DryDrive, Seen
from snellen.models.naming.image_tokens import PictureRule
from snellen.store.responses import ResponseStore

CHARACTERS_PER_TOKEN = 4
ENOUGH = 30
"""Stored replies from which an average is taken."""
_ROW_BYTES = 120
"""Of a row of the store beside its reply: keys and their index."""


class Assumptions(Struct, frozen=True, kw_only=True):
    """What is taken for granted where nothing was measured."""

    accuracy: float = 0.6
    """Share of passes answered right, each independent of the others."""
    picture_tokens: int = 1000
    reply_tokens: int = 64
    reply_bytes: int = 400


class Estimate(Struct, frozen=True, kw_only=True):
    """What is still to be asked of the model, and what that takes. None: nobody knows."""

    samples: int
    most_requests: int
    """If every pass were answered right."""
    requests: float
    """Expected, early stop included."""
    stored: int
    """Requests that the store answers."""
    equal: int
    """Requests that read as one before them does: they are sent once."""
    unsupported: int
    """Samples that are beyond the model."""
    asked_of_others: dict[str, int]
    """Requests to readers and judges, at most, by role."""
    prompt_tokens: float
    completion_tokens: float
    seconds: float | None
    """Of the model's own work, divided by the requests it takes at a time."""
    store_bytes: float
    said: tuple[str, ...]
    """What each number rests on."""


def estimate(
    plan: Plan,
    store: ResponseStore,
    assumed: Assumptions,
    rule: PictureRule | None = None,
    at_a_time: int = 1,
    until: Precision | Duel | None = None,
) -> Estimate:
    """Drive every flow of a run without asking anybody; with `until`, those of the samples before
    its expected end. Raises as `run` does for data that cannot be opened."""
    table = plan.benchmark.open()
    chosen = chosen_ids(plan, table)
    given = _Given(plan, store, assumed, rule, at_a_time)
    every = (sample for sample in plan.benchmark.samples(table) if sample.id in chosen)
    if until is None:
        return _summed(given, _driven(given, every), len(chosen))
    return _until(given, list(every), until)


def _until(given: _Given, samples: Sequence[Sample], until: Precision | Duel) -> Estimate:
    """Of a run that may stop early. What all samples tell, the first ones are estimated by."""
    whole = _driven(given, samples)
    found = _summed(given, whole, len(samples))
    share = _share(whole.seen, given.assumed)
    score = whole.seen.mean_score(share.value)
    if score is None:
        return found
    seed = given.plan.seed
    if isinstance(until, Duel):
        return _with(found, contest_told(units_in_order(samples, seed), until, score))
    weights = headline_weights(given.plan.benchmark, samples).of_samples
    units = units_in_order(samples, seed, by_media=False, weights=weights)
    stop = stop_of(units, until, score)
    at = f"at a score of {100 * score:.0f} ({share.why})"
    if stop is None:
        told = f"not expected to be reached with {len(samples):,} samples {at}; all are asked"
        return _with(found, f"--until {until.text}: {told}")
    first = [sample for unit in units[:stop] for sample in unit.samples]
    part = _summed(given, _driven(given, first), len(first), whole.seen)
    told = f"about {len(first):,} of {len(samples):,} samples {at}"
    part = msgspec.structs.replace(part, most_requests=found.most_requests)
    return _with(part, f"--until {until.text}: {told}")


class _Given(NamedTuple):
    """What an estimate rests on."""

    plan: Plan
    store: ResponseStore
    assumed: Assumptions
    rule: PictureRule | None
    at_a_time: int


class _Driven(NamedTuple):
    seen: Seen
    pictures: str
    """How the tokens of pictures were counted."""


def _driven(given: _Given, samples: Iterable[Sample]) -> _Driven:
    picture_tokens = given.assumed.picture_tokens
    drive = DryDrive(given.plan, given.store, given.rule, picture_tokens)
    for sample in samples:
        drive.sample(sample)
    drive.close()
    return _Driven(drive.seen, drive.pictures_said())


def _with(found: Estimate, sentence: str) -> Estimate:
    return msgspec.structs.replace(found, said=(sentence, *found.said))


class _Share(NamedTuple):
    """Of passes that are right."""

    value: float
    why: str


def _share(seen: Seen, assumed: Assumptions) -> _Share:
    if seen.judged >= ENOUGH:
        return _Share(seen.right / seen.judged, f"from {seen.judged} stored replies")
    return _Share(assumed.accuracy, "assumed")


class _Tokens(NamedTuple):
    prompt: float
    completion: float
    said: str


def _summed(given: _Given, driven: _Driven, samples: int, all_seen: Seen | None = None) -> Estimate:
    """`all_seen`: of all samples, where `driven` went through the first alone."""
    assumed, seen = given.assumed, driven.seen
    known = all_seen or seen
    share, why = _share(known, assumed)
    # Replies of this run tell most; others of the same model are better than none.
    replies = known.replies
    if len(replies) < ENOUGH:
        replies = [*replies, *given.store.some_of(given.plan.model.identity, ENOUGH)]
    expected = sum(share**before * len(sizes) for before, sizes in seen.owed.items())
    most = sum(map(len, seen.owed.values()))
    said = [f"{share:.0%} of passes are right ({why})"] if len(seen.owed) > 1 else []
    answered = [one for one in replies if not isinstance(one, Failure)]
    tokens = _tokens(seen, answered, assumed, share, driven.pictures)
    if most:
        said.append(f"tokens: {tokens.said}")
    times = [one.seconds for one in answered if one.seconds]
    seconds = expected * sum(times) / len(times) / given.at_a_time if times else None
    if most and times:
        said.append(f"time: from {len(times)} stored replies, {given.at_a_time} at a time")
    size = float(assumed.reply_bytes)
    if answered:
        size = sum(len(msgspec.json.encode(one)) for one in answered) / len(answered)
    return Estimate(
        samples=samples,
        most_requests=most,
        requests=expected,
        stored=seen.stored,
        equal=seen.equal,
        unsupported=seen.unsupported,
        asked_of_others=dict(seen.others),
        prompt_tokens=tokens.prompt,
        completion_tokens=tokens.completion,
        seconds=seconds if most else 0.0,
        store_bytes=expected * (size + _ROW_BYTES),
        said=tuple(said),
    )


def _tokens(
    seen: Seen,
    answered: Sequence[Generated | Ranked | Drawn | Compared],
    assumed: Assumptions,
    share: float,
    pictures: str,
) -> _Tokens:
    """Of the expected requests: as stored replies had, or by characters and pictures."""
    weights = [(share**before, size) for before, sizes in seen.owed.items() for size in sizes]
    expected = sum(weight for weight, _ in weights)
    used = [one.usage for one in answered if one.usage is not None]
    if len(used) >= ENOUGH:
        prompt = sum(one.prompt_tokens for one in used) / len(used)
        reply = sum(one.completion_tokens for one in used) / len(used)
        return _Tokens(expected * prompt, expected * reply, f"from {len(used)} stored replies")
    prompt = sum(
        weight * (size.characters / CHARACTERS_PER_TOKEN + size.picture_tokens)
        for weight, size in weights
    )
    said = (
        f"{CHARACTERS_PER_TOKEN} characters a token; {pictures}{assumed.reply_tokens} tokens a "
        "reply (assumed)"
    )
    return _Tokens(prompt, expected * assumed.reply_tokens, said)
