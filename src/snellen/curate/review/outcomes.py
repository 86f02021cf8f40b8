"""What the decisions of several people about one item come to."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, NamedTuple

from snellen.curate.review.edits import (
    ANSWER,
    item_fields,
    key_value,
    same_answer,
)
from snellen.curate.review.entries import DROP_REASONS, ItemReviews, ReviewEntry
from snellen.curate.review.queue import Abilities, QueuedItem, ReviewSettings

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

    @property
    def is_settled(self) -> bool:
        return bool(self.action)


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
    if entry.action == "fix" or entry.action == "drop":
        return entry.action
    return "keep"


def _apply_resolution(
    queued: QueuedItem, resolution: ReviewEntry, abilities: Abilities
) -> ReviewOutcome:
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
        said = "; ".join(f"{entry.by}: {_say(entry)}" for entry in decisions)
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


def _say(entry: ReviewEntry) -> str:
    return f"answer {entry.answer}" if entry.action == "answer" else entry.action


def _compare_with_key(
    queued: QueuedItem,
    decisions: list[ReviewEntry],
    settings: ReviewSettings,
    abilities: Abilities,
) -> ReviewOutcome:
    """The outcome where annotators who saw no key agree."""
    changes = blind_changes(
        queued, next((e for e in decisions if e.ability), decisions[0]), abilities
    )
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
