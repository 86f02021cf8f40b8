"""Decisions about items: what was decided, by which rule or person, on what evidence.

`decisions.jsonl` holds one decision a line, in the order they were made. A data set folder also
holds the decisions of the data it was made of, so that it explains itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal, NamedTuple

import msgspec
from msgspec import Struct

from snellen.core.errors import DataError, StorageError

DECISIONS_FILE = "decisions.jsonl"
FAILED = "failed"
"""Rule of a decision that says a request failed; the next start asks again."""

Action = Literal["add", "keep", "flag", "drop", "fix"]
"""`add`: the item is new; `keep`: it passed; `flag`: a person should look at it; `drop`: it is not
in the data set any more; `fix`: it was changed."""


class Evidence(Struct, frozen=True, omit_defaults=True):
    """What one model, person or measurement said about an item."""

    model: str
    """Name of the model, of the annotator, or of what was measured."""
    request: str = ""
    """Digest of the request, in hex: the key of its reply in the response store."""
    reply: str = ""
    verdict: str = ""
    """What the reply means for the decision, such as "right" or "failed: timeout"."""
    score: float | None = None


class Decision(Struct, frozen=True, omit_defaults=True):
    """A decision about one item."""

    item: str
    """Id of the item."""
    action: Action
    step: str
    """Name of the step, such as "filter"."""
    rule: str
    """Name of the rule; of a person's decision "person"."""
    reason: str = ""
    """A sentence for a reader."""
    evidence: tuple[Evidence, ...] = ()
    changes: dict[str, tuple[str, str]] = {}
    """Column to its text before and after, if the item was changed."""
    by: str = ""
    """Who decided, if a person did."""
    at: str = ""
    """When, in UTC, ISO 8601."""

    @property
    def is_retryable(self) -> bool:
        """Whether the next start looks at the item again."""
        return self.rule == FAILED


class Exclusion(NamedTuple):
    """Why a picture, a record or a caption is dropped: the name of a rule, and a sentence."""

    rule: str
    reason: str


_decode = msgspec.json.Decoder(Decision).decode


def utc_now() -> str:
    """The time of now for `Decision.at`, to the second."""
    return datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")


def read_decisions(path: Path) -> Iterator[Decision]:
    """Iterate over the decisions of a data set folder, or of a file; none if there is no file.

    A last line that a killed process left unfinished is passed over. Raises DataError for any other
    line that is no decision, and StorageError.
    """
    file = path / DECISIONS_FILE if path.is_dir() else path
    try:
        with file.open("rb") as lines:
            for number, line in enumerate(lines, 1):
                if not line.endswith(b"\n"):
                    return
                if not line.strip():
                    continue
                try:
                    yield _decode(line)
                except (msgspec.DecodeError, UnicodeDecodeError) as error:
                    raise DataError(f"{file}, line {number} is no decision: {error}") from error
    except FileNotFoundError:
        return
    except OSError as error:
        raise StorageError(f"cannot read {file}: {error.strerror or error}") from error


def latest_decisions(decisions: Iterable[Decision]) -> dict[str, Decision]:
    """The last decision about each item, by id."""
    return {decision.item: decision for decision in decisions}


def flagged_items(decisions: Iterable[Decision]) -> dict[str, tuple[Decision, ...]]:
    """The flags of each item that no person and no later step has settled, by id.

    A `keep` or `fix` by a person, and any `drop`, takes an item's earlier flags back.
    """
    flags: dict[str, list[Decision]] = {}
    for decision in decisions:
        if decision.action == "flag":
            flags.setdefault(decision.item, []).append(decision)
        elif decision.by or decision.action == "drop":
            flags.pop(decision.item, None)
    return {name: tuple(raised) for name, raised in flags.items()}


def count_actions(decisions: Mapping[str, Decision]) -> dict[str, int]:
    """Number of items by action."""
    counts: dict[str, int] = {}
    for decision in decisions.values():
        counts[decision.action] = counts.get(decision.action, 0) + 1
    return counts
