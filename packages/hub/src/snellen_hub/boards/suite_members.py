"""Suites of a hub: making, changing and deleting them."""

from __future__ import annotations

import math
import re
from typing import Any

import msgspec
from msgspec import Struct
from sqlalchemy import select
from sqlalchemy.orm import Session

from snellen.core.errors import UsageError
from snellen_hub.boards.changes import note_suite_change
from snellen_hub.boards.moments import BoardMoment
from snellen_hub.database.tables import BoardChange, HostedBenchmark, HostedSuite

_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,62}")


class MemberColumn(Struct, frozen=True):
    """A benchmark of a suite."""

    benchmark: str
    weight: float = 1.0
    """In the average."""
    scale: float | None = None
    """What its numbers are multiplied by to run from 0 to 100, such as 0.1 for OCRBench; None: 100
    divided by the highest value that its scores declare."""
    metric: str = ""
    """The metric or group that counts; empty for the headline."""

    @property
    def key(self) -> str:
        """The key of its column."""
        return f"{self.benchmark}.{self.metric}" if self.metric else self.benchmark


class NewSuite(Struct, frozen=True, kw_only=True):
    """What an owner says of a suite."""

    name: str
    members: tuple[MemberColumn, ...]
    title: str = ""
    description: str = ""


def create_suite(session: Session, new: NewSuite) -> HostedSuite:
    """Add a suite. Raises UsageError for a name that is taken or malformed, and for members that
    do not exist or come twice."""
    if not _NAME.fullmatch(new.name):
        raise UsageError(
            f"a suite cannot be called {new.name!r}; expected up to 63 lower-case letters, digits, - and _"
        )
    if find_hosted_suite(session, new.name) is not None:
        raise UsageError(f"the hub has a suite called {new.name} already")
    _check_members(session, new.members)
    row = HostedSuite(
        name=new.name,
        title=new.title or new.name,
        description=new.description,
        members=msgspec.to_builtins(list(new.members)),
    )
    session.add(row)
    session.flush()
    note_suite_change(session, new.name, {}, {"members": row.members})
    return row


def change_suite(session: Session, row: HostedSuite, new: NewSuite) -> None:
    """Replace members, title and description of a suite; its earlier boards keep their members.
    Raises UsageError as `create_suite`."""
    _check_members(session, new.members)
    before = row.members
    row.members = msgspec.to_builtins(list(new.members))
    row.title, row.description = new.title or row.title, new.description or row.description
    note_suite_change(session, row.name, {"members": before}, {"members": row.members})


def delete_suite(session: Session, row: HostedSuite) -> None:
    """Delete a suite. Its benchmarks stay."""
    note_suite_change(session, row.name, {"members": row.members}, {})
    session.delete(row)


def find_hosted_suite(session: Session, name: str) -> HostedSuite | None:
    return session.scalar(select(HostedSuite).where(HostedSuite.name == name))


def suite_members(session: Session, suite: HostedSuite, moment: BoardMoment | None = None) -> tuple[MemberColumn, ...]:
    """The members of a suite, now or at a moment."""
    members: list[Any] = suite.members
    if moment is not None:
        query = select(BoardChange).where(BoardChange.kind == "suite").order_by(BoardChange.id)
        own = [change for change in session.scalars(query) if change.after.get("suite") == suite.name]
        earlier = [change for change in own if change.id <= moment.change]
        later = [change for change in own if change.id > moment.change]
        if earlier:
            members = earlier[-1].after.get("members", [])
        elif later:
            members = later[0].before.get("members", [])
    return msgspec.convert(tuple(members), tuple[MemberColumn, ...])


def _check_members(session: Session, members: tuple[MemberColumn, ...]) -> None:
    """Raises UsageError."""
    if not members:
        raise UsageError("a suite has no members; expected the names of benchmarks of this hub")
    known = set(session.scalars(select(HostedBenchmark.name)))
    keys = [member.key for member in members]
    for member in members:
        if member.benchmark not in known:
            raise UsageError(
                f"this hub has no benchmark {member.benchmark}; expected some of "
                f"{', '.join(sorted(known)[:20]) or 'none so far'}"
            )
        if keys.count(member.key) > 1:
            raise UsageError(f"the suite has {member.key} twice; name each once")
        for name, number in (("weight", member.weight), ("scale", member.scale)):
            if number is not None and not (math.isfinite(number) and 0 < number <= 1e6):
                raise UsageError(f"the {name} of {member.benchmark} is {number}; expected a positive number")
