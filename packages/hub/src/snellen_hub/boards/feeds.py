"""Feeds of changes: Atom (RFC 4287), of the whole hub or of one benchmark."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from jinja2 import Template
from sqlalchemy.orm import Session

from snellen_hub.boards.changes import changes_of
from snellen_hub.config import HubConfig
from snellen_hub.database.tables import BoardChange, HostedBenchmark, HostedSuite
from snellen_hub.moment_text import iso_time

_INVALID = re.compile("[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_ENTRIES = 100
_CHANGES = 1_000
_TOGETHER = timedelta(hours=1)
"""Numbers that are imported into a board within this time are one entry."""
_BEGINNING = datetime(2000, 1, 1, tzinfo=UTC)


class ChangeFeed(NamedTuple):
    """A feed and what caches compare."""

    content: bytes
    etag: str
    updated: datetime
    """Of the latest change; a fixed day if there is none."""


class _FeedEntry(NamedTuple):
    change: BoardChange
    """The latest of those that it is about."""
    changes: int


def change_feed(session: Session, config: HubConfig, board: HostedBenchmark | HostedSuite | None = None) -> ChangeFeed:
    """The latest changes of a benchmark's board, of those of a suite's members, or of all."""
    query = changes_of(board, _CHANGES).where(BoardChange.benchmark_id.is_not(None))
    changes = session.scalars(query).all()
    place, title = "", config.title
    if board is not None:
        folder = "benchmarks" if isinstance(board, HostedBenchmark) else "suites"
        place, title = f"/{folder}/{board.name}", f"{config.title}: {board.title}"
    updated = max((change.at for change in changes), default=_BEGINNING)
    text = _template().render(
        title=title,
        config=config,
        place=place,
        updated=iso_time(updated),
        host=urlsplit(config.url).hostname or "localhost",
        entries=[(entry.change, iso_time(entry.change.at), _line(entry)) for entry in _entries(changes)[:_ENTRIES]],
    )
    # XML 1.0 cannot hold these characters.
    content = _INVALID.sub("", text).encode()
    return ChangeFeed(content, f'"{hashlib.sha256(content).hexdigest()[:32]}"', updated)


@cache
def _template() -> Template:
    text = files(__package__).joinpath("feed.xml").read_text(encoding="utf-8")
    template: Template = Template(text, autoescape=True, trim_blocks=True, lstrip_blocks=True)
    return template


def describe_change(kind: str, model: str, before: dict[str, Any], after: dict[str, Any], title: str) -> str:
    """A change as one line of plain text."""
    if kind == "data-replaced":
        return f"{title}: other questions, answers or protocol, version {after.get('version', '?')}"
    if kind == "reveals":
        dates = ", ".join(after["reveals"]) or "no date is set"
        return f"{title}: next reveals of private questions: {dates}"
    if kind == "phases":
        times = [f"{each['name']} {each['opens']} to {each['closes']}" for each in after["phases"]]
        return f"{title}: phases: {', '.join(times) or 'none, it is open'}"
    if kind == "withdrawn":
        return f"{title}: {model} is withdrawn"
    if kind == "scored":
        version = after.get("version", "?")
        return f"{title}: {model} has {_number(after)} on version {version} of the benchmark; {_number(before)} before"
    number = "a reported number" if kind == "imported" else "a new score"
    return f"{title}: {model}, {number}: {_number(after)}"


def _entries(changes: Sequence[BoardChange]) -> list[_FeedEntry]:
    """Changes, the latest first; imports of an hour into the same board are one entry."""
    entries: list[_FeedEntry] = []
    for change in changes:
        latest = entries[-1].change if entries else None
        if (
            latest is not None
            and latest.kind == change.kind == "imported"
            and latest.benchmark_id == change.benchmark_id
            and latest.at - change.at < _TOGETHER
        ):
            entries[-1] = entries[-1]._replace(changes=entries[-1].changes + 1)
        else:
            entries.append(_FeedEntry(change, 1))
    return entries


def _line(entry: _FeedEntry) -> str:
    change = entry.change
    title = change.benchmark.title if change.benchmark is not None else ""
    model = change.submission.model if change.submission is not None else ""
    if entry.changes > 1:
        return f"{title}: {entry.changes} reported numbers, {model} among them"
    return describe_change(change.kind, model, change.before, change.after, title)


def _number(displayed: dict[str, Any]) -> str:
    value = displayed.get("value")
    if value is None:
        return "no number"
    low, high, n = displayed.get("low"), displayed.get("high"), displayed.get("n")
    digits = 1 if displayed.get("top", 100.0) <= 100 else 2
    text = f"{value:.{digits}f}" + (" %" if displayed.get("unit", "percent") == "percent" else "")
    if low is not None and high is not None:
        text += f" ({low:.{digits}f} to {high:.{digits}f})"
    return text + (f", n = {n:,}" if n else "")
