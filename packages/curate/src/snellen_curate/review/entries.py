"""What people decide about items, in `reviews.jsonl` of the review's folder.

A line is one entry; lines are appended, synced and never rewritten, so that nothing is lost when a
page, a server or the machine dies, and any number of processes may write at once. The last entry of
an annotator about an item is valid; an entry `undo` takes the one before it back.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Literal

import msgspec
from filelock import FileLock, Timeout
from msgspec import Meta, Struct

from snellen.core.errors import StorageError, UsageError, refuse_pipe
from snellen.store.annotations import MAX_ID, append_line

REVIEWS_FILE = "reviews.jsonl"
MAX_TEXT, MAX_NAME, MAX_FIELDS = 10_000, 80, 60
"""Characters of a text and of an annotator's name; fields that one entry changes."""
_LOCK_FILE = ".reviews.lock"
_LOCK_SECONDS = 10.0

Role = Literal["annotator", "adjudicator"]
"""An adjudicator sees all decisions and has the last word on an item."""
ReviewAction = Literal["keep", "fix", "drop", "answer", "comment", "undo"]
"""`answer`: the annotator's own answer, in a blind review; `undo`: takes back the last entry of
this person about the item."""
Text = Annotated[str, Meta(max_length=MAX_TEXT)]

DROP_REASONS = {
    "not_visual": "can be answered without the picture",
    "unanswerable": "cannot be answered from the picture",
    "no_correct": "no option is correct",
    "several_correct": "several options are correct",
    "ambiguous": "the question or its options are ambiguous",
    "other": "another reason",
}
"""Why an item is dropped: the grounds of MMBench (Sec. 3.2 and Appendix B) and of SEED-Bench-H
(Sec. 3.4.1.4)."""


class ReviewEntry(Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """One line of `reviews.jsonl`."""

    item: Annotated[str, Meta(max_length=MAX_ID)]
    by: str
    """Name of the annotator."""
    action: ReviewAction
    role: Role = "annotator"
    changes: Annotated[dict[str, Text], Meta(max_length=MAX_FIELDS)] = {}
    """Of `fix`: column to its new text; empty removes an option or a hint."""
    answer: Text = ""
    """Of `answer`: what the annotator holds to be right."""
    ability: Text = ""
    """Of `answer`: the ability (evaluation dimension) that the annotator chose."""
    reason: str = ""
    """Of `drop`: a key of `DROP_REASONS`."""
    comment: Text = ""
    seconds: Annotated[float, Meta(ge=0)] | None = None
    """How long the item was in front of the person before this entry."""
    at: str = ""
    """When, in UTC, ISO 8601."""

    @property
    def is_decision(self) -> bool:
        return self.action not in ("comment", "undo")

    @property
    def source(self) -> tuple[str, str, str, bool]:
        """What one person says of one item, decisions apart from comments."""
        return self.item, self.by, self.role, self.is_decision

    def says_the_same(self, other: ReviewEntry) -> bool:
        """Whether two entries differ in their time at most."""
        return msgspec.structs.replace(self, at=other.at, seconds=other.seconds) == other


def check_name(name: str) -> str:
    """The name of an annotator with single blanks. Raises UsageError."""
    cleaned = " ".join(name.split())
    if not cleaned or len(cleaned) > MAX_NAME or not cleaned.isprintable():
        raise UsageError(f"an annotator is named by 1 to {MAX_NAME} printable characters, got {name[:90]!r}")
    return cleaned


def read_lines(path: Path) -> list[str]:
    """The lines of a text file that somebody made. Raises UsageError."""
    refuse_pipe(path)
    try:
        return path.read_text(encoding="utf-8-sig").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not text in UTF-8"
        raise UsageError(f"cannot read {path}: {reason}") from error


_decode_entry = msgspec.json.Decoder(ReviewEntry).decode
_encode = msgspec.json.Encoder().encode


class ReviewLog:
    """The entries of a review's folder, read on as the file grows."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / REVIEWS_FILE
        self._lock = FileLock(folder / _LOCK_FILE, timeout=_LOCK_SECONDS)
        self._offset = 0
        self._line = 0
        self.unreadable: list[int] = []
        """Numbers, from 1, of lines that are no entries: cut short by a kill, or edited."""

    def read_new(self) -> list[ReviewEntry]:
        """The entries since the last call. Raises StorageError."""
        try:
            with self.path.open("rb") as file:
                file.seek(self._offset)
                data = file.read()
        except FileNotFoundError:
            return []
        except OSError as error:
            raise StorageError(f"cannot read {self.path}: {error.strerror or error}") from error
        entries: list[ReviewEntry] = []
        # A last line without an end may still be being written.
        *lines, rest = data.split(b"\n")
        self._offset += len(data) - len(rest)
        for line in lines:
            self._line += 1
            try:
                entries.append(_decode_entry(line))
            except (msgspec.DecodeError, UnicodeDecodeError):
                if line.strip():
                    self.unreadable.append(self._line)
        return entries

    def append(self, entries: Sequence[ReviewEntry]) -> None:
        """Append entries, with the time of now where they have none; they are on the disk when this
        returns. Raises StorageError."""
        now = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        lines = [_encode(msgspec.structs.replace(entry, at=entry.at or now)) for entry in entries]
        try:
            with self._lock:
                append_line(self.path, b"\n".join(lines))
        except Timeout:
            raise StorageError(
                f"cannot write {self.path}: another process has been writing it for {_LOCK_SECONDS:g} s"
            ) from None
        except OSError as error:
            raise StorageError(f"cannot write {self.path}: {error.strerror or error}") from error


class ItemReviews:
    """The valid entries about one item."""

    def __init__(self) -> None:
        self._entries: list[ReviewEntry] = []

    def apply(self, entry: ReviewEntry) -> None:
        """Take one more entry in."""
        if entry.action != "undo":
            self._entries.append(entry)
            return
        for at in range(len(self._entries) - 1, -1, -1):
            before = self._entries[at]
            if (before.by, before.role) == (entry.by, entry.role):
                del self._entries[at]
                return

    def decisions(self) -> dict[str, ReviewEntry]:
        """The annotators' decisions, by name."""
        return {entry.by: entry for entry in self._entries if entry.is_decision and entry.role == "annotator"}

    def resolution(self) -> ReviewEntry | None:
        """The adjudicator's last decision."""
        every = (entry for entry in reversed(self._entries) if entry.is_decision)
        return next((entry for entry in every if entry.role == "adjudicator"), None)

    def last_decisions(self) -> list[ReviewEntry]:
        """The annotators' decisions, and the adjudicator's."""
        resolution = self.resolution()
        return [*self.decisions().values(), *([resolution] if resolution else [])]

    def comments(self) -> list[ReviewEntry]:
        """Every entry with a comment, in order."""
        return [entry for entry in self._entries if entry.comment]

    def has(self, entry: ReviewEntry) -> bool:
        """Whether an entry is known: the last of its person, or an earlier one of that time."""
        own = [each for each in self._entries if each.source == entry.source]
        return any(each.says_the_same(entry) for each in own if each is own[-1] or each.at == entry.at)
