"""The present, and times as people type and read them."""

from __future__ import annotations

from datetime import UTC, datetime

from snellen.core.errors import UsageError


def now() -> datetime:
    return datetime.now(UTC)


def parse_moment(text: str) -> datetime:
    """A date or time in ISO 8601, in UTC unless it says otherwise. Raises UsageError."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise UsageError(f"{text!r} is no date; expected such as 2027-03-01T12:00") from None
    return in_utc(moment)


def in_utc(moment: datetime) -> datetime:
    """A time in UTC; one without a zone is taken as that."""
    return moment.replace(tzinfo=moment.tzinfo or UTC).astimezone(UTC)


def iso_time(when: datetime) -> str:
    """A time in UTC as text, to the second."""
    return when.isoformat(timespec="seconds").replace("+00:00", "Z")
