"""What has changed on boards, as lines of a list."""

from __future__ import annotations

from typing import NamedTuple

from sqlalchemy.orm import Session

from snellen_hub.boards.changes import changes_of
from snellen_hub.database.tables import BoardChange, HostedBenchmark, HostedSuite
from snellen_hub.web.pages.scales import number_text

_KINDS = {
    "published": "new",
    "imported": "imported",
    "scored": "scored again",
    "withdrawn": "withdrawn",
    "data-replaced": "new version of the benchmark",
    "reveals": "dates of reveals",
    "phases": "other phases",
    "suite": "suite changed",
}
"""What is written of each kind of change."""


class ChangeLine(NamedTuple):
    """A change of a board."""

    at: str
    kind: str
    model: str
    link: str
    """Of the submission, while it is published."""
    where: str
    path: str
    before: str
    after: str


def latest_changes(
    session: Session, limit: int, board: HostedBenchmark | HostedSuite | None = None
) -> list[ChangeLine]:
    """The latest changes of all boards, of a benchmark's or of those of a suite's members, the
    last one first."""
    return [_change_line(change) for change in session.scalars(changes_of(board, limit))]


def _change_line(change: BoardChange) -> ChangeLine:
    submission, benchmark = change.submission, change.benchmark
    is_public = submission is not None and submission.visibility == "published"
    suite = str(change.after.get("suite") or change.before.get("suite") or "")
    return ChangeLine(
        at=change.at.isoformat(timespec="minutes").replace("+00:00", "Z"),
        kind=_KINDS.get(change.kind, change.kind),
        model=str(change.after.get("model") or change.before.get("model") or ""),
        link=f"/submissions/{submission.public_id}" if submission and is_public else "",
        where=benchmark.title if benchmark else suite,
        path=f"/benchmarks/{benchmark.name}" if benchmark else f"/suites/{suite}",
        before=_headline(change.before),
        after=_headline(change.after),
    )


def _headline(state: dict[str, object]) -> str:
    value = state.get("value")
    return number_text(float(value)) if isinstance(value, int | float) else ""
