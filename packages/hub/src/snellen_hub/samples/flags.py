"""What readers hold to be wrong with public items: one flag of an account and item, of a kind and
with a short reason. Nobody answers it here; people decide in the review of `snellen curate`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from sqlalchemy import Select, func, select
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session, joinedload

from snellen.core.errors import UsageError
from snellen.data_sets.decisions import Decision
from snellen_hub.database.tables import Account, HostedBenchmark, WrongLabelFlag
from snellen_hub.errors import TooMany
from snellen_hub.moment_text import now
from snellen_hub.samples.browsing import find_item
from snellen_hub.samples.versions import VersionChanges

FLAG_KINDS = {
    "wrong-answer": "the answer is wrong",
    "ambiguous": "the question is ambiguous, or several options are right",
    "broken-image": "the picture or video is broken, or another one",
    "text-only": "it can be answered without the picture",
    "duplicate": "another question is the same",
}
MAX_REASON = 500
"""Characters."""
FLAGS_PER_DAY = 50
_DAY = timedelta(hours=24)
_OUTCOMES = {
    "keep": "a reviewer kept the item as it is",
    "fix": "a reviewer fixed the item",
    "drop": "a reviewer took the item out",
}


class TooManyFlags(TooMany):
    """An account has raised as many flags as it may for now."""


class FlaggedItem(NamedTuple):
    """The open flags of an item."""

    benchmark: str
    item: str
    flags: tuple[WrongLabelFlag, ...]

    def kinds(self) -> dict[str, int]:
        """Number of flags by kind, the most frequent first."""
        counts: dict[str, int] = {}
        for flag in self.flags:
            counts[flag.kind] = counts.get(flag.kind, 0) + 1
        return dict(sorted(counts.items(), key=lambda entry: -entry[1]))


def raise_flag(
    session: Session, benchmark: HostedBenchmark, account_id: int, item: str, kind: str, reason: str
) -> WrongLabelFlag:
    """Flag an item. Raises NoSuchItem (also for every item of a hidden split), TooManyFlags, and
    UsageError for an unknown kind, a reason that is missing or too long, or a second flag."""
    found = find_item(session, benchmark, item)
    if kind not in FLAG_KINDS:
        raise UsageError(f"the kind of the flag is {kind[:40]!r}; expected one of {', '.join(FLAG_KINDS)}")
    text = " ".join("".join(sign if sign.isprintable() else " " for sign in reason).split())
    if not text or len(text) > MAX_REASON:
        raise UsageError(f"the reason has {len(text):,} characters; expected a sentence of up to {MAX_REASON}")
    # Until the transaction ends: flags at the same time count each other.
    session.get_one(Account, account_id, with_for_update=True)
    if open_flag(session, benchmark, account_id, item) is not None:
        raise _twice(item)
    query = select(func.count()).where(WrongLabelFlag.account_id == account_id, WrongLabelFlag.created > now() - _DAY)
    if (session.scalar(query) or 0) >= FLAGS_PER_DAY:
        raise TooManyFlags(f"{FLAGS_PER_DAY} flags in 24 hours are all that an account may raise; try again later")
    flag = WrongLabelFlag(
        benchmark_id=benchmark.id,
        account_id=account_id,
        item=found.name,
        kind=kind,
        reason=text,
        version=benchmark.version,
        outcome="",
    )
    session.add(flag)
    try:
        session.flush()
    except IntegrityError as error:
        # Two requests at once.
        raise _twice(item) from error
    return flag


def open_flag(session: Session, benchmark: HostedBenchmark, account_id: int, item: str) -> WrongLabelFlag | None:
    """The open flag of an account about an item."""
    query = _open_flags(benchmark.id, item).where(WrongLabelFlag.account_id == account_id)
    return session.scalar(query)


def _open_flags(benchmark_id: int, item: str) -> Select[WrongLabelFlag]:
    return select(WrongLabelFlag).where(
        WrongLabelFlag.benchmark_id == benchmark_id, WrongLabelFlag.item == item, WrongLabelFlag.settled.is_(None)
    )


def read_flags(session: Session, benchmark_id: int | None = None) -> list[FlaggedItem]:
    """Every open flag by item, the items with most flags first; of one benchmark or of all."""
    query = (
        select(WrongLabelFlag)
        .where(WrongLabelFlag.settled.is_(None))
        .options(joinedload(WrongLabelFlag.benchmark), joinedload(WrongLabelFlag.account))
        .order_by(WrongLabelFlag.id)
    )
    if benchmark_id is not None:
        query = query.where(WrongLabelFlag.benchmark_id == benchmark_id)
    grouped: dict[tuple[str, str], list[WrongLabelFlag]] = {}
    for flag in session.scalars(query):
        grouped.setdefault((flag.benchmark.name, flag.item), []).append(flag)
    items = [FlaggedItem(*name, tuple(flags)) for name, flags in grouped.items()]
    return sorted(items, key=lambda each: (-len(each.flags), each.benchmark, each.item))


def count_flags(session: Session, benchmark_id: int) -> int:
    """Number of the open flags of a benchmark."""
    return sum(len(each.flags) for each in read_flags(session, benchmark_id))


def settle_flags(session: Session, benchmark_id: int, item: str, outcome: str) -> int:
    """Close the open flags of an item; returns their number."""
    flags = session.scalars(_open_flags(benchmark_id, item)).all()
    for flag in flags:
        flag.settled, flag.outcome = now(), outcome
    return len(flags)


def settle_by_data(
    session: Session, benchmark: HostedBenchmark, changes: VersionChanges, decisions: Iterable[Decision]
) -> int:
    """Close the flags that replaced data answer: of items that a person decided about after they
    were flagged, and of items that changed or are gone. Returns the number of closed flags."""
    by_person: Mapping[str, Decision] = {each.item: each for each in decisions if each.by}
    closed = 0
    for flagged in read_flags(session, benchmark.id):
        outcome = ""
        decision = by_person.get(flagged.item)
        if decision is not None and _is_later(decision, flagged):
            outcome = _OUTCOMES.get(decision.action, "")
            outcome += f": {decision.reason}" if outcome and decision.reason else ""
        elif flagged.item in changes.removed_items:
            outcome = f"the item is not in version {benchmark.version} any more"
        elif flagged.item in changes.changed_items:
            outcome = f"the item was changed in version {benchmark.version}"
        if outcome:
            closed += settle_flags(session, benchmark.id, flagged.item, outcome)
    return closed


def flag_json(flag: WrongLabelFlag) -> dict[str, Any]:
    """A flag as the API gives it to owners and to whoever raised it."""
    return {
        "item": flag.item,
        "kind": flag.kind,
        "reason": flag.reason,
        "version": flag.version,
        "created": flag.created.isoformat(timespec="seconds").replace("+00:00", "Z"),
        "outcome": flag.outcome,
    }


def _is_later(decision: Decision, flagged: FlaggedItem) -> bool:
    """Whether a decision was made after the first flag was raised: older ones of the same data
    folder answer nothing."""
    try:
        decided = datetime.fromisoformat(decision.at)
    except ValueError:
        return False
    # Some times are to the second.
    first = min(flag.created for flag in flagged.flags).replace(microsecond=0)
    return decided.tzinfo is not None and decided >= first


def _twice(item: str) -> UsageError:
    return UsageError(f"you have flagged the item {item[:80]!r} already")
