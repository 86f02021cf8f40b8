"""What the earlier starts of a run spent, also where one of them was killed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from pathlib import Path

from msgspec.structs import replace

from snellen.core.model import Identity
from snellen.core.output import Failure, Output, Usage
from snellen.core.price import Price, cost
from snellen.core.run import RunInfo, Spent
from snellen.engine.lost_runs import LOST
from snellen.store.responses import ResponseStore


def with_replies_of_a_killed_start(
    spent: dict[str, Spent],
    earlier: RunInfo | None,
    folder: Path,
    identities: Mapping[str, Identity],
    prices: Mapping[str, Price],
    store: ResponseStore,
) -> dict[str, Spent]:
    """`spent` by role, with the replies that a killed start stored and did not live to note.

    The store is read once, and only where the run before did not end of its own.
    """
    if earlier is None or (earlier.status != "running" and earlier.stopped != LOST):
        return spent
    since = datetime.fromisoformat(earlier.created).timestamp()
    roles: dict[str, list[str]] = {}
    for role, identity in identities.items():
        roles.setdefault(identity.digest(), []).append(role)
    found = dict(spent)
    for alike in roles.values():
        # A model that has several roles answers as one: what is missing counts for the first.
        first = alike[0]
        stored = store.outputs_of(folder, identities[first], since)
        noted = [spent[role] for role in alike if role in spent]
        if len(stored) > sum(one.answered for one in noted):
            missing = _missing(stored, noted)
            found[first] = _sum(spent.get(first, Spent()), missing, prices.get(first))
    return found


def _missing(stored: list[Output], noted: list[Spent]) -> Spent:
    """What the stored replies cost beyond what was noted."""
    usages = [one.usage for one in stored if not isinstance(one, Failure) and one.usage]
    seconds = [one.seconds for one in stored if not isinstance(one, Failure) and one.seconds]
    count = len(stored) - sum(one.answered for one in noted)

    def beyond(tokens: Callable[[Usage], int]) -> int:
        return max(0, sum(map(tokens, usages)) - sum(tokens(one.usage) for one in noted))

    return Spent(
        answered=count,
        usage=Usage(
            beyond(lambda usage: usage.prompt_tokens),
            beyond(lambda usage: usage.completion_tokens),
            beyond(lambda usage: usage.reasoning_tokens),
            beyond(lambda usage: usage.cached_tokens),
        ),
        seconds=max(0.0, sum(seconds) - sum(one.seconds for one in noted)),
    )


def _sum(before: Spent, missing: Spent, price: Price | None) -> Spent:
    old, new = before.usage, missing.usage
    price = before.price or price
    answered = before.answered + missing.answered
    return replace(
        before,
        sent=max(before.sent, answered),
        answered=answered,
        usage=Usage(
            old.prompt_tokens + new.prompt_tokens,
            old.completion_tokens + new.completion_tokens,
            old.reasoning_tokens + new.reasoning_tokens,
            old.cached_tokens + new.cached_tokens,
        ),
        seconds=round(before.seconds + missing.seconds, 3),
        price=price,
        cost=before.cost if price is None else (before.cost or 0.0) + cost(new, price),
    )
