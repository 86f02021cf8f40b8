"""A review as its page and its commands see it: queue, log and outcomes together; and what the
decisions of several people about one item come to."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from threading import Lock
from time import monotonic
from typing import Literal, NamedTuple

from msgspec.structs import replace

from snellen.core.errors import UsageError
from snellen_curate.review.annotators import FieldAgreement, ReviewFigures, measure_agreement, measure_annotators
from snellen_curate.review.edits import ANSWER, answer_value, check_changes, item_fields, key_value, same_answer
from snellen_curate.review.entries import DROP_REASONS, ItemReviews, ReviewEntry, ReviewLog, Role, check_name
from snellen_curate.review.queue import Abilities, QueuedItem, ReviewQueue, ReviewSettings

Status = Literal["open", "begun", "conflict", "agreed", "resolved"]
"""`open`: no decision; `begun`: fewer than each item needs; `conflict`: an adjudicator decides."""
STATUSES: tuple[Status, ...] = ("open", "begun", "conflict", "agreed", "resolved")


class ReviewOutcome(NamedTuple):
    """Where the review of an item stands."""

    status: Status
    action: Literal["", "keep", "fix", "drop"] = ""
    """What becomes of the item; empty as long as that is open."""
    changes: Mapping[str, str] = {}
    """Of `fix`: field to its new text."""
    reason: str = ""
    """Why: of a conflict what differs, else what the people said."""
    by: tuple[str, ...] = ()
    """Who decided."""


def decide_outcome(
    queued: QueuedItem, reviews: ItemReviews, settings: ReviewSettings, abilities: Abilities
) -> ReviewOutcome:
    """Where the review of an item stands: the adjudicator's word, else what all annotators say."""
    resolution = reviews.resolution()
    if resolution is not None:
        return _apply_resolution(queued, resolution, abilities)
    decisions = list(reviews.decisions().values())
    if not decisions:
        return ReviewOutcome("open")
    if len(decisions) < settings.annotators:
        return ReviewOutcome("begun")
    names = tuple(entry.by for entry in decisions)
    differing = _difference(queued, decisions)
    if differing:
        return ReviewOutcome("conflict", reason=differing, by=names)
    if settings.blind and decisions[0].action == "answer":
        return _compare_with_key(queued, decisions, settings, abilities)._replace(by=names)
    first = decisions[0]
    changes = first.changes if first.action == "fix" else {}
    return ReviewOutcome("agreed", _plain(first), changes, join_reasons(decisions), names)


def _plain(entry: ReviewEntry) -> Literal["keep", "fix", "drop"]:
    return entry.action if entry.action in ("fix", "drop") else "keep"


def _apply_resolution(queued: QueuedItem, resolution: ReviewEntry, abilities: Abilities) -> ReviewOutcome:
    changes: Mapping[str, str] = resolution.changes if resolution.action == "fix" else {}
    action = _plain(resolution)
    if resolution.action == "answer":
        changes = blind_changes(queued, resolution, abilities)
        action = "fix" if changes else "keep"
    return ReviewOutcome("resolved", action, changes, join_reasons([resolution]), (resolution.by,))


def _difference(queued: QueuedItem, decisions: list[ReviewEntry]) -> str:
    """In which way decisions differ; "" if they do not."""
    first = decisions[0]
    if any(entry.action != first.action for entry in decisions):
        said = "; ".join(f"{entry.by}: {entry.action} {entry.answer}".rstrip() for entry in decisions)
        return f"the annotators differ ({said})"
    if any(entry.changes != first.changes for entry in decisions):
        return "the annotators fix it in different ways"
    if first.action != "answer":
        return ""
    if any(not same_answer(queued.item, entry.answer, first.answer) for entry in decisions):
        said = "; ".join(f"{entry.by}: {entry.answer}" for entry in decisions)
        return f"the annotators answer differently ({said})"
    if len({entry.ability for entry in decisions if entry.ability}) > 1:
        said = "; ".join(f"{entry.by}: {entry.ability or 'none'}" for entry in decisions)
        return f"the annotators choose different abilities ({said})"
    return ""


def _compare_with_key(
    queued: QueuedItem, decisions: list[ReviewEntry], settings: ReviewSettings, abilities: Abilities
) -> ReviewOutcome:
    """The outcome where annotators who saw no key agree."""
    changes = blind_changes(queued, next((e for e in decisions if e.ability), decisions[0]), abilities)
    if not changes:
        return ReviewOutcome("agreed", "keep", reason=join_reasons(decisions))
    fields = item_fields(queued.item)
    column = abilities.column
    parts = [
        f"{name} {changes[field]!r}, the data say {fields.get(field) or 'nothing'!r}"
        for field, name in ((ANSWER, "answer"), (column, "ability"))
        if field in changes
    ]
    reason = "the annotators choose " + "; ".join(parts)
    if settings.mismatch == "fix":
        return ReviewOutcome("agreed", "fix", changes, reason)
    return ReviewOutcome("conflict", reason=reason)


def blind_changes(queued: QueuedItem, entry: ReviewEntry, abilities: Abilities) -> dict[str, str]:
    """What an annotator's answer and ability change in the item; nothing if both are the data's."""
    item = queued.item
    fields = item_fields(item)
    changes: dict[str, str] = {}
    if not same_answer(item, entry.answer, key_value(item)):
        changes[ANSWER] = entry.answer
    if entry.ability and entry.ability != fields.get(abilities.column, ""):
        wanted = abilities.changes(entry.ability)
        changes |= {name: text for name, text in wanted.items() if fields.get(name, "") != text}
    return changes


def join_reasons(entries: list[ReviewEntry]) -> str:
    """What people gave as reasons, as one sentence; "" if none did."""
    reasons = dict.fromkeys(DROP_REASONS[entry.reason] for entry in entries if entry.reason)
    comments = dict.fromkeys(entry.comment for entry in entries if entry.comment)
    return "; ".join([*reasons, *comments])


CLAIM_SECONDS = 600.0
"""Seconds after which an item that was handed to somebody is handed to others too."""


class ReviewProgress(NamedTuple):
    """How far a review is, and one annotator in it."""

    items: int
    by_status: Mapping[Status, int]
    own: int
    """Items that the annotator decided."""


class NextItem(NamedTuple):
    """What an annotator is to do next."""

    item: str | None
    waiting: int = 0
    """Without an item: those that others have claimed."""


class ReviewBoard:
    """Thread-safe. Entries that another process appends are seen with the next call."""

    def __init__(
        self, folder: Path, queue: ReviewQueue, settings: ReviewSettings, clock: Callable[[], float] = monotonic
    ) -> None:
        """`clock` counts seconds; an item that an annotator has opened is claimed for
        `CLAIM_SECONDS`."""
        self.queue = queue
        self.settings = settings
        self.log = ReviewLog(folder)
        self._clock = clock
        self._lock = Lock()
        self._reviews: dict[str, ItemReviews] = {}
        self._outcomes: dict[str, ReviewOutcome] = {}
        self._counts: Counter[Status] = Counter(dict.fromkeys(("open",), len(queue.items)))
        self._claims: dict[str, dict[str, float]] = {}
        self._history: dict[tuple[str, Role], list[str]] = {}
        """Items by person, in the order of the entries that are valid."""
        self._figures: ReviewFigures | None = None
        self._measured = self._new = 0
        """Annotators' entries that the figures are of, and those since."""
        self.ignored: list[ReviewEntry] = []
        """Entries about items that are not in the queue."""

    def reviews(self, item: str) -> ItemReviews:
        """The valid entries about an item. Raises UsageError for an unknown id."""
        self._check_item(item)
        with self._lock:
            self._read_new()
            return self._reviews.get(item) or ItemReviews()

    def outcome(self, item: str) -> ReviewOutcome:
        """Where the review of an item stands."""
        with self._lock:
            self._read_new()
            return self._outcomes.get(item) or ReviewOutcome("open")

    def outcomes(self) -> Iterator[tuple[str, ReviewOutcome]]:
        """Each item to review with where it stands: those of the queue but the gold items."""
        items = self.queue.items
        return ((name, each) for name, each, _ in self.rows() if items[name].gold is None)

    def rows(self) -> Iterator[tuple[str, ReviewOutcome, ItemReviews]]:
        """Each item of the queue with where it stands and its valid entries."""
        with self._lock:
            self._read_new()
            known, reviews = dict(self._outcomes), dict(self._reviews)
        for name in self.queue.items:
            outcome = known.get(name) or ReviewOutcome("open")
            yield name, outcome, reviews.get(name) or ItemReviews()

    def agreement(self) -> list[FieldAgreement]:
        """How far the annotators agree."""
        with self._lock:
            self._read_new()
            return measure_agreement(self.queue, self._reviews, self.settings)

    def figures(self, slack: float = 0.0) -> ReviewFigures:
        """What the decisions say of the annotators and of the items; `slack` is the share of the
        decisions that need not be counted yet."""
        with self._lock:
            self._read_new()
            if self._figures is None or self._new > slack * self._measured:
                blind = self.settings.blind
                self._figures = measure_annotators(self.queue, self._reviews, blind)
                self._measured, self._new = self._measured + self._new, 0
            return self._figures

    def progress(self, by: str) -> ReviewProgress:
        """How far the review is, and this annotator in it."""
        with self._lock:
            self._read_new()
            own = sum(by in each.decisions() for each in self._reviews.values())
            return ReviewProgress(len(self.queue.items), {name: self._counts[name] for name in STATUSES}, own)

    def next_item(self, by: str, after: str = "", role: Role = "annotator") -> NextItem:
        """The next item for somebody, from the one `after` on, and again from the first.

        An annotator gets items that still need decisions and that not enough others have claimed,
        and thereby claims them; an adjudicator gets conflicts.
        """
        with self._lock:
            self._read_new()
            now = self._clock()
            waiting = 0
            names = list(self.queue.items)
            first = names.index(after) + 1 if after in self.queue.items else 0
            for name in (*names[first:], *names[:first]):
                if role == "adjudicator":
                    if self._status(name) == "conflict" and name != after:
                        return NextItem(name)
                    continue
                others, claimed = self._others(name, by, now)
                if others is None or others >= self.settings.annotators:
                    continue
                if others + claimed >= self.settings.annotators:
                    waiting += 1
                    continue
                self._claims.setdefault(name, {})[by] = now + CLAIM_SECONDS
                return NextItem(name)
            return NextItem(None, waiting)

    def neighbour(self, item: str, step: int) -> str:
        """The item before or after in the queue; the item itself at the ends."""
        names = list(self.queue.items)
        at = names.index(item) + step
        return names[min(max(at, 0), len(names) - 1)]

    def decide(self, entry: ReviewEntry) -> ReviewEntry:
        """Store an entry, once it is on the disk. Raises UsageError and StorageError."""
        checked = self.check(entry)
        self.log.append([checked])
        with self._lock:
            self._claims.get(entry.item, {}).pop(checked.by, None)
        return checked

    def undo(self, by: str, role: Role) -> str | None:
        """Take the last entry of a person back; returns its item, None if there is none."""
        with self._lock:
            self._read_new()
            history = self._history.get((by, role))
            item = history[-1] if history else None
        if item is not None:
            self.log.append([ReviewEntry(item, by, "undo", role)])
        return item

    def check(self, entry: ReviewEntry) -> ReviewEntry:
        """An entry in the form in which it is stored. Raises UsageError for an unknown id, for
        changes that would break the item, and for what the review does not ask."""
        self._check_item(entry.item)
        queued = self.queue.items[entry.item]
        blind = self.settings.blind and entry.role == "annotator"
        changes, answer = entry.changes, entry.answer
        if entry.action == "undo":
            raise UsageError("an entry is taken back by undo, not by an entry of a file or page")
        if entry.action in ("keep", "fix") and blind:
            raise UsageError(
                f"item {entry.item}: this review is blind, so that annotators answer, drop or "
                f"comment; {entry.action} is for adjudicators"
            )
        if entry.action == "answer" and not self.settings.blind:
            raise UsageError(f"item {entry.item}: answers are for blind reviews; here, keep, fix or drop it")
        if entry.action == "fix":
            changes = check_changes(queued.item, changes)
        elif changes:
            raise UsageError(f"item {entry.item}: changes are for the action fix")
        if entry.action == "answer":
            answer = answer_value(queued.item, answer)
        elif answer or entry.ability:
            raise UsageError(f"item {entry.item}: an answer or ability is for the action answer")
        known = self.queue.abilities.parents
        if entry.ability and entry.ability not in known:
            raise UsageError(
                f"item {entry.item}: the data have no ability {entry.ability[:80]!r}; expected one "
                f"of {', '.join(list(known)[:8])}{', ...' if len(known) > 8 else ''}"
            )
        self._check_reason(entry)
        return replace(entry, by=check_name(entry.by), changes=changes, answer=answer, comment=entry.comment.strip())

    def _check_reason(self, entry: ReviewEntry) -> None:
        if entry.reason and entry.action != "drop":
            raise UsageError(f"item {entry.item}: a reason is for the action drop")
        if entry.reason and entry.reason not in DROP_REASONS:
            raise UsageError(
                f"item {entry.item}: {entry.reason[:80]!r} is no reason; expected one of " + ", ".join(DROP_REASONS)
            )
        if entry.action == "comment" and not entry.comment.strip():
            raise UsageError(f"item {entry.item}: the comment is empty")

    def _check_item(self, item: str) -> None:
        if item not in self.queue.items:
            raise UsageError(
                f"the queue has no item {item[:80]!r}; it has {len(self.queue.items):,} items, listed in queue.jsonl"
            )

    def _status(self, name: str) -> Status:
        outcome = self._outcomes.get(name)
        return outcome.status if outcome else "open"

    def _others(self, name: str, by: str, now: float) -> tuple[int | None, int]:
        """Decisions of an item, None if `by` decided it or the item is resolved; and others who
        have claimed it. A gold item is for everybody."""
        reviews = self._reviews.get(name)
        decisions = reviews.decisions() if reviews else {}
        is_gold = self.queue.items[name].gold is not None
        if by in decisions or (reviews and reviews.resolution() and not is_gold):
            return None, 0
        if is_gold:
            return 0, 0
        claims = self._claims.get(name, {})
        held = sum(until > now and who != by and who not in decisions for who, until in claims.items())
        return len(decisions), held

    def _read_new(self) -> None:
        for entry in self.log.read_new():
            self._new += entry.role == "annotator"
            if entry.item not in self.queue.items:
                self.ignored.append(entry)
                continue
            reviews = self._reviews.setdefault(entry.item, ItemReviews())
            reviews.apply(entry)
            self._note(entry)
            before = self._status(entry.item)
            outcome = self._update_outcome(entry.item, reviews)
            self._outcomes[entry.item] = outcome
            self._counts[before] -= 1
            self._counts[outcome.status] += 1

    def _update_outcome(self, name: str, reviews: ItemReviews) -> ReviewOutcome:
        queued = self.queue.items[name]
        if queued.gold is not None and reviews.decisions():
            return ReviewOutcome("agreed", "keep", reason="a gold item")
        outcome = decide_outcome(queued, reviews, self.settings, self.queue.abilities)
        if outcome.action != "fix":
            return outcome
        try:
            check_changes(queued.item, outcome.changes)
        except UsageError as error:
            # An answer of a blind review, or a line that somebody edited, that breaks the item.
            return ReviewOutcome("conflict", reason=str(error), by=outcome.by)
        return outcome

    def _note(self, entry: ReviewEntry) -> None:
        history = self._history.setdefault((entry.by, entry.role), [])
        if entry.action != "undo":
            history.append(entry.item)
            return
        if entry.item in history:
            del history[len(history) - 1 - history[::-1].index(entry.item)]
