"""Changes of an item by people: its fields as text, and which changes are refused."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from string import ascii_uppercase

from msgspec import DecodeError
from msgspec.structs import replace

from snellen.core.errors import SnellenError, UsageError
from snellen.core.page import load_page
from snellen.core.place import load_places
from snellen.core.sample import Sample
from snellen.data_sets.items import MULTI, Item, item_kind

YES_NO = ("Yes", "No")
ANSWER = "answer"
SPLIT_COLUMN = "split"
"""Groups items, but by no ability."""
DROPPED = "dropped"
"""Stands beside answers for an item that an annotator drops."""


def item_fields(item: Item) -> dict[str, str]:
    """The fields that people may change, as text: question, hint, one per option, answer, and one
    per group but the split. Several accepted answers of an open question are lines."""
    sample = item.sample
    fields = {"question": sample.question, "hint": sample.hint, **sample.options}
    groups = {name: text for name, text in sample.groups.items() if name != SPLIT_COLUMN}
    return {**fields, ANSWER: "\n".join(sample.gold), **groups}


WRITTEN = frozenset({"open", "place", "fields", "page"})
"""Kinds of questions whose answers are written, not chosen."""
_STORED: Mapping[str, Callable[[str], object]] = {"place": load_places, "fields": json.loads, "page": load_page}
"""Kinds whose gold answers are JSON, each with what reads it."""


def check_changes(item: Item, changes: Mapping[str, str]) -> dict[str, str]:
    """The changes that differ from the item, in its order of fields, stripped.

    Raises UsageError for an unknown field, an empty question, options with a gap or twice the same,
    a gold answer that is no option, and for changes that change nothing.
    """
    fields = item_fields(item)
    unknown = [name for name in changes if name not in fields and not _may_be_option(item, name)]
    if unknown:
        raise UsageError(f"item {item.id} has no field {unknown[0]!r}; people change {', '.join(fields)}")
    merged = fields | {name: text.strip() for name, text in changes.items()}
    changed = _without_removed_options(item, merged)
    changed_item = _with_fields(item, changed)
    _check_item(changed_item)
    if ANSWER in changes and item_kind(item) not in WRITTEN:
        merged[ANSWER] = "\n".join(changed_item.sample.gold)
    different = {name: text for name, text in merged.items() if text != fields.get(name, "")}
    if not different:
        raise UsageError(f"this fix of item {item.id} changes nothing; to leave the item as it is, keep it")
    return different


def apply_changes(item: Item, changes: Mapping[str, str]) -> Item:
    """The item with checked changes, which leave nothing that keeps it from being asked."""
    merged = item_fields(item) | dict(changes)
    changed = _with_fields(item, _without_removed_options(item, merged))
    return replace(changed, problem="")


def changes_before_and_after(item: Item, changes: Mapping[str, str]) -> dict[str, tuple[str, str]]:
    """Field to its text before and after, as decisions record it."""
    fields = item_fields(item)
    return {name: (fields.get(name, ""), text) for name, text in changes.items()}


def answer_choices(item: Item) -> dict[str, str]:
    """The answers to choose from, label to text; none for an open question."""
    if item.sample.kind == "yes_no":
        return dict.fromkeys(YES_NO, "")
    return dict(item.sample.options)


def key_value(item: Item) -> str:
    """The data's answer as `answer_value` gives an annotator's; "" if the data have none."""
    gold = item.sample.gold
    try:
        return answer_value(item, "\n".join(gold)) if gold else ""
    except UsageError:
        # A key that is no option is one of the things that a review finds.
        return "\n".join(gold)


def answer_value(item: Item, text: str) -> str:
    """An answer in the one form in which answers to this item are compared: a label, labels in
    order, "Yes" or "No", or the text of an open answer. Raises UsageError for what is no option."""
    cleaned = text.strip()
    kind = item_kind(item)
    if not cleaned:
        raise UsageError(f"the answer to item {item.id} is empty")
    if kind in WRITTEN:
        return cleaned
    choices = answer_choices(item)
    if kind == MULTI:
        labels = sorted({part.strip().upper() for part in cleaned.split(",")})
        if set(labels) <= choices.keys():
            return ", ".join(labels)
    else:
        by_name = {label.casefold(): label for label in choices}
        if cleaned.casefold() in by_name:
            return by_name[cleaned.casefold()]
    raise UsageError(
        f"item {item.id} has no option {cleaned[:80]!r}; expected {_list_of(choices)}"
        + (", or several of them with commas" if kind == MULTI else "")
    )


def same_answer(item: Item, first: str, second: str) -> bool:
    """Whether two answers, as `answer_value` gives them, are the same: open ones regardless of case
    and blanks, and any line of a key with several accepted answers."""
    if item_kind(item) not in WRITTEN:
        return first == second
    ours, theirs = ({" ".join(line.casefold().split()) for line in each.split("\n")} for each in (first, second))
    return bool(ours & theirs)


def _may_be_option(item: Item, name: str) -> bool:
    return bool(item.sample.options) and len(name) == 1 and name in ascii_uppercase


def _without_removed_options(item: Item, fields: Mapping[str, str]) -> dict[str, str]:
    """Fields without options that were emptied. Raises UsageError if one before the last was."""
    if not item.sample.options:
        return dict(fields)
    labels = [name for name in ascii_uppercase if _may_be_option(item, name) and name in fields]
    filled = [name for name in labels if fields[name]]
    if filled != list(ascii_uppercase[: len(filled)]):
        gap = next(a for a, b in zip(ascii_uppercase, [*filled, ""], strict=False) if a != b)
        raise UsageError(
            f"option {gap} of item {item.id} is missing, though {filled[-1]} is there; move the "
            "options up and say which is the answer"
        )
    return {name: text for name, text in fields.items() if name not in labels or text}


def _with_fields(item: Item, fields: Mapping[str, str]) -> Item:
    sample = item.sample
    options = {label: fields[label] for label in ascii_uppercase if label in fields}
    options = options if sample.options else {}
    changed = replace(
        sample,
        question=fields["question"],
        hint=fields["hint"],
        options=options,
        groups={name: fields.get(name, text) for name, text in sample.groups.items() if fields.get(name, text)},
        # Rotations repeat the text of the options, and are made again from the item.
        rotations=() if options != sample.options else sample.rotations,
    )
    return replace(item, sample=replace(changed, gold=_gold(changed, fields[ANSWER])))


def _gold(sample: Sample, text: str) -> tuple[str, ...]:
    lines = tuple(filter(None, (line.strip() for line in text.split("\n"))))
    if sample.kind == "open" and sample.options:
        return (", ".join(sorted(part.strip().upper() for part in text.split(","))),) if text else ()
    if sample.kind == "choice":
        return tuple(line.upper() if line.upper() in sample.options else line for line in lines)
    if sample.kind in _STORED:
        return (text.strip(),) if text.strip() else ()
    if sample.kind == "yes_no":
        known = {name.casefold(): name for name in YES_NO}
        return tuple(known.get(line.casefold(), line) for line in lines)
    return lines


def _check_item(item: Item) -> None:
    """Raises UsageError for an item that cannot be asked as it stands."""
    sample = item.sample
    if not sample.question:
        raise UsageError(f"item {item.id} would have no question")
    texts: dict[str, str] = {}
    for label, text in sample.options.items():
        other = texts.setdefault(" ".join(text.casefold().split()), label)
        if other != label:
            raise UsageError(f"options {other} and {label} of item {item.id} would be the same")
    if sample.options and len(sample.options) < 2:
        raise UsageError(f"item {item.id} would have one option; expected two or more")
    if not sample.gold:
        return
    if sample.kind != "open" and len(sample.gold) != 1:
        raise UsageError(f"item {item.id} would have {len(sample.gold)} answers; expected one")
    _check_stored(item)
    answer_value(item, "\n".join(sample.gold))


def _check_stored(item: Item) -> None:
    """Raises UsageError for a place, a record or a page that could not be read as a gold answer."""
    sample = item.sample
    if sample.kind not in _STORED:
        return
    try:
        _STORED[sample.kind](sample.gold[0])
    except (ValueError, DecodeError, SnellenError) as error:
        raise UsageError(
            f"the answer of item {item.id} is no {sample.kind} as it is stored: {error}; change the JSON of its answer"
        ) from error


def _list_of(names: Mapping[str, str]) -> str:
    *first, last = names
    return f"{', '.join(first)} or {last}" if first else last
