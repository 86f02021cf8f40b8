"""Which items people review, and what they are to know of each: flags and models' replies.

`queue.jsonl` holds the queue in its order, an item a line, for other annotation tools; in a blind
review without keys, groups, flags and other cells. Gold items, whose right decision is known, are
mixed in: every annotator gets each of them, and no page of an annotator says which they are.
"""

from __future__ import annotations

import heapq
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from random import Random
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, Struct
from msgspec.structs import replace

from snellen.core.atomic_write import save_json_lines
from snellen.core.errors import DataError, UsageError
from snellen.core.media import FileSource
from snellen.core.output import Generated
from snellen.core.record import Record
from snellen.core.sample import MediaRef, sampling_key
from snellen.data.media.video_cells import FrameFolder, VideoFile
from snellen.data_sets.decisions import Decision, Evidence, flagged_items, read_decisions
from snellen.data_sets.items import MULTI, Item, ItemTable, item_kind
from snellen.data_sets.step import MediaWriter
from snellen.store.runs import distinct_runs
from snellen_curate.duplicates.report import PAIR_RULES
from snellen_curate.review.edits import ANSWER, SPLIT_COLUMN, answer_value, apply_changes, check_changes, key_value
from snellen_curate.review.entries import MAX_FIELDS, Text, read_lines

QUEUE_FILE = "queue.jsonl"
MAX_QUEUE = 100_000
"""Items of one review; more than people look at."""
MAX_ABILITIES = 1_000
ABILITY_COLUMN = "category"
"""The finest grouping of a question by ability, where the data have it."""
MAX_REPLY = 20_000
"""Characters of a model's reply that are displayed."""


class GoldItem(Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """One line of a file of gold items."""

    item: str
    action: Literal["keep", "fix", "drop", "answer"]
    """The right decision."""
    answer: Text = ""
    """Of `answer`: the right answer; empty for the key of the data."""
    planted: Annotated[dict[str, Text], Meta(max_length=MAX_FIELDS)] = {}
    """Field to its text on the page: a fault that annotators are to find. The data keep theirs."""
    why: Text = ""
    """Stands on the page as the reason why the item is in the queue, where it has no flag."""


class ReviewSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """What a review is about; it stays the same as long as the review goes on."""

    queue: Literal["flagged", "all", "ids", "sample"] = "flagged"
    ids: tuple[str, ...] = ()
    sample: int = 0
    seed: int = 0
    runs: tuple[str, ...] = ()
    """Folders of runs whose replies are displayed."""
    blind: bool = False
    """Whether annotators see neither key nor replies, and choose answer and ability themselves."""
    annotators: int = 1
    """Decisions that each item needs."""
    mismatch: Literal["resolve", "fix"] = "resolve"
    """Blind: what becomes of an item whose annotators agree against the key: an adjudicator
    decides, or their answer becomes the key."""
    columns: dict[str, str] = {}
    """Our column names to those of the data."""
    gold: tuple[GoldItem, ...] = ()
    """Items whose right decision is known, mixed into the queue."""


@dataclass(frozen=True, slots=True)
class QueuedItem:
    """An item of the queue."""

    item: Item
    flags: tuple[Decision, ...] = ()
    """Why earlier steps want a person to look at it."""
    replies: tuple[Evidence, ...] = ()
    """What the models of `--runs` replied."""
    gold: GoldItem | None = None
    """Of a gold item: its right decision."""
    pairs: tuple[Item, ...] = ()
    """Items of the data that it repeats or contradicts, by its flags."""


@dataclass(frozen=True, slots=True)
class Abilities:
    """The abilities that the data distinguish, in their order."""

    column: str = ""
    """The column that names them; empty if the data have none."""
    parents: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """Ability to its values of the coarser groupings, where each item of it has the same."""

    def changes(self, ability: str) -> dict[str, str]:
        """The fields of an item of this ability."""
        return {self.column: ability, **self.parents.get(ability, {})} if self.column else {}


@dataclass(frozen=True, slots=True)
class ReviewQueue:
    """The items to review, by id, in the order of the queue."""

    items: Mapping[str, QueuedItem]
    abilities: Abilities


def read_queue(table: ItemTable, settings: ReviewSettings, *, may_be_empty: bool = False) -> ReviewQueue:
    """Choose the items of a review and read them. Raises UsageError, also if there are none and
    the queue may not be empty, and DataError."""
    flags = flagged_items(read_decisions(table.folder)) if table.folder is not None else {}
    gold = {each.item: each for each in settings.gold}
    chosen = _chosen_ids(table, settings, flags)
    paired = {name: paired_items(each) for name, each in flags.items()}
    others = dict.fromkeys(other for names in paired.values() for other in names)
    items: dict[str, Item] = {}
    pairs: dict[str, Item] = {}
    columns: dict[str, _AbilityColumn] = {}
    for item in table:
        for name in item.sample.groups:
            columns.setdefault(name, _AbilityColumn()).add(item, name)
        if item.id in others:
            pairs[item.id] = askable(item)
        if chosen is None or item.id in chosen or item.id in gold:
            items[item.id] = askable(item)
            if len(items) > MAX_QUEUE:
                raise UsageError(
                    f"the queue would have more than {MAX_QUEUE:,} items; review a part with --limit N or --items FILE"
                )
    _check_ids(table, settings.ids, items, "ids")
    _check_ids(table, gold, items, "gold items")
    names = [name for name in (settings.ids or items) if name not in gold]
    if not names and not may_be_empty:
        raise UsageError(
            f"{table.name} has nothing to review: no item is flagged; name the items with "
            "--items all, --limit N or --items FILE"
        )
    check_hidden(gold, flags, names)
    replies = _read_replies(settings.runs, items.keys())
    queued = {
        name: QueuedItem(
            items[name],
            flags.get(name, ()),
            tuple(replies.get(name, ())),
            pairs=tuple(pairs[other] for other in paired.get(name, ()) if other in pairs),
        )
        for name in mix_gold(names, gold, settings.seed)
    }
    for name, each in gold.items():
        queued[name] = _queued_gold(each, queued[name], settings)
    return ReviewQueue(queued, _abilities(columns))


def _queued_gold(gold: GoldItem, queued: QueuedItem, settings: ReviewSettings) -> QueuedItem:
    """A gold item as it is displayed. Raises UsageError."""
    if gold.planted and settings.runs:
        raise UsageError(
            f"gold item {gold.item} has a planted fault, and replies of --runs would tell it from "
            "the others; leave either out"
        )
    flags = queued.flags
    if gold.why and not flags:
        step, _, reason = gold.why.rpartition(": ")
        flags = (Decision(gold.item, "flag", "filter", step or "rule", reason),)
    return QueuedItem(present_gold(gold, queued.item, settings.blind), flags, queued.replies, gold)


def askable(item: Item) -> Item:
    """The item as people see it: one that could not be asked as it stands, such as with a key that
    is no option, is a plain choice."""
    if item.problem and item_kind(item) == MULTI:
        return replace(item, sample=replace(item.sample, kind="choice"))
    return item


def write_queue(folder: Path, queue: ReviewQueue, settings: ReviewSettings) -> None:
    """Write `queue.jsonl`, for people who use another tool. Media that are not files of their own
    are written below `media`. Raises StorageError."""
    media = MediaWriter(folder)
    save_json_lines(folder / QUEUE_FILE, (queue_row(each, settings.blind, media) for each in queue.items.values()))


def queue_row(queued: QueuedItem, blind: bool, media: MediaWriter) -> dict[str, Any]:
    """An item of the queue as a JSON object; `blind` leaves out what annotators may not see.
    Raises OSError."""
    sample = queued.item.sample
    row: dict[str, Any] = {
        "item": sample.id,
        "kind": item_kind(queued.item),
        "question": sample.question,
        "hint": sample.hint,
        "options": dict(sample.options),
        "media": [
            {"kind": ref.kind, "sha256": ref.digest, "file": _file(ref) or media.copy(ref)} for ref in sample.media
        ],
    }
    if not blind:
        row["cells"] = dict(queued.item.cells)
        row["answer"] = list(sample.gold)
        row["groups"] = dict(sample.groups)
        row["problem"] = queued.item.problem
        row["flags"] = msgspec.to_builtins(queued.flags)
        row["replies"] = msgspec.to_builtins(queued.replies)
    return row


def _file(ref: MediaRef) -> str:
    """The path of a medium that is a file of its own; else empty."""
    if not isinstance(ref.source, FileSource | VideoFile | FrameFolder):
        return ""
    path = Path(ref.source.path)
    return str(path) if path.exists() else ""


def _chosen_ids(table: ItemTable, settings: ReviewSettings, flags: Collection[str]) -> frozenset[str] | None:
    """Ids of the items to review; None for all of them."""
    if settings.queue == "all":
        return None
    if settings.queue == "ids":
        return frozenset(settings.ids)
    if settings.queue == "sample":
        names = (item.id for item in table)
        return frozenset(heapq.nsmallest(settings.sample, names, lambda name: sampling_key(settings.seed, name)))
    return frozenset(flags)


def _check_ids(table: ItemTable, names: Iterable[str], items: Collection[str], what: str) -> None:
    """Raises UsageError if an id is unknown."""
    unknown = [name for name in names if name not in items]
    if unknown:
        more = f" and {len(unknown) - 1} more" if len(unknown) > 1 else ""
        known = ", ".join(item.id for item in islice(table, 3))
        raise UsageError(f"{table.name} has no item {unknown[0]!r}{more} of the {what}; its ids are such as {known}")


def read_ids(path: Path) -> tuple[str, ...]:
    """Ids of a file: one a line, or objects with "item", "index" or "id". Raises UsageError."""
    names = dict.fromkeys(
        _id_of_line(line.strip(), path, number) for number, line in enumerate(read_lines(path), 1) if line.strip()
    )
    if not names:
        raise UsageError(f"{path} is empty; expected an id a line")
    return tuple(names)


def _id_of_line(line: str, path: Path, number: int) -> str:
    if not line.startswith("{"):
        return line
    try:
        record = msgspec.json.decode(line)
    except msgspec.DecodeError as error:
        raise UsageError(f"{path}, line {number} is no JSON: {error}") from error
    for name in ("item", "index", "id"):
        if isinstance(record.get(name), str | int):
            return str(record[name])
    raise UsageError(f'{path}, line {number} has no id: expected "item", "index" or "id"')


class _AbilityColumn:
    """The values of a group column, and the other groups of their items."""

    def __init__(self) -> None:
        self.values: dict[str, dict[str, str]] = {}
        self.is_large = False

    def add(self, item: Item, column: str) -> None:
        groups = item.sample.groups
        value = groups.get(column, "")
        if not value or self.is_large:
            return
        parents = self.values.get(value)
        if parents is None:
            self.values[value] = {name: text for name, text in groups.items() if name != column}
            self.is_large = len(self.values) > MAX_ABILITIES
        else:
            for name in [name for name, text in parents.items() if groups.get(name) != text]:
                del parents[name]


def _abilities(columns: Mapping[str, _AbilityColumn]) -> Abilities:
    """The abilities of the finest grouping by ability."""
    small = {name: each for name, each in columns.items() if not each.is_large and name != SPLIT_COLUMN}
    if not small:
        return Abilities()
    name = ABILITY_COLUMN if ABILITY_COLUMN in small else next(iter(small))
    coarser = {other for other in small if other != name and other.endswith(ABILITY_COLUMN)}
    parents = {
        value: {other: text for other, text in groups.items() if other in coarser}
        for value, groups in sorted(small[name].values.items())
    }
    return Abilities(name, parents)


def _read_replies(runs: Sequence[str], wanted: Collection[str]) -> dict[str, list[Evidence]]:
    """What the models of some runs replied to the items. Raises UsageError."""
    replies: dict[str, list[Evidence]] = {}
    for run in distinct_runs(runs) if runs else ():
        before = sum(map(len, replies.values()))
        for record in run.records():
            if record.id in wanted:
                replies.setdefault(record.id, []).extend(_evidence(run.info.model, record))
        if sum(map(len, replies.values())) == before:
            raise DataError(f"{run.path} has no reply to any item of the queue; name runs over the same data")
    return replies


def _evidence(model: str, record: Record) -> Iterator[Evidence]:
    verdict = {None: record.unscored or record.outcome, 0.0: "wrong", 1.0: "right"}
    pass_verdict = {None: "", False: "wrong", True: "right"}
    for number, each in enumerate(record.passes):
        text = each.output.text if isinstance(each.output, Generated) else ""
        if not text and each.answer is None:
            continue
        several = len(record.passes) > 1
        yield Evidence(
            model=f"{model}, pass {number + 1}" if several else model,
            request=record.requests[number] if number < len(record.requests) else "",
            reply=text[:MAX_REPLY],
            verdict=pass_verdict[each.correct] if several else str(verdict.get(record.score, "partly right")),
            score=None if several else record.score,
        )


def paired_items(flags: Iterable[Decision]) -> tuple[str, ...]:
    """Ids of the items that one repeats or contradicts, by its flags."""
    pairs = (each for flag in flags if flag.rule in PAIR_RULES for each in flag.evidence)
    return tuple(dict.fromkeys(each.reply for each in pairs))


def evidence_of(flags: Iterable[Decision]) -> Iterator[Evidence]:
    """The evidence of several flags, each once."""
    return iter(dict.fromkeys(each for flag in flags for each in flag.evidence))


def read_gold(path: Path) -> tuple[GoldItem, ...]:
    """The gold items of a file of JSON lines. Raises UsageError."""
    found: dict[str, GoldItem] = {}
    for number, line in enumerate(read_lines(path), 1):
        if not line.strip():
            continue
        try:
            gold = msgspec.json.decode(line, type=GoldItem)
        except msgspec.DecodeError as error:
            raise UsageError(
                f"{path}, line {number} is no gold item ({error}); expected a line such as "
                '{"item": "7", "action": "keep"}'
            ) from None
        if gold.item in found:
            raise UsageError(f"{path}, line {number}: item {gold.item} stands twice")
        found[gold.item] = gold
    if not found:
        raise UsageError(f"{path} is empty; expected a gold item a line")
    return tuple(found.values())


def present_gold(gold: GoldItem, item: Item, blind: bool) -> Item:
    """A gold item as annotators see it. Raises UsageError for a decision that they cannot make."""
    if blind and (gold.action not in ("answer", "drop") or ANSWER in gold.planted):
        raise UsageError(
            f"gold item {gold.item}: this review is blind, so that its right decision is answer or "
            "drop, and no key is planted"
        )
    if gold.action == "answer":
        if not blind:
            raise UsageError(f"gold item {gold.item}: answers are for blind reviews")
        answer_value(item, gold.answer or key_value(item))
    if not gold.planted:
        return item
    return apply_changes(item, check_changes(item, gold.planted))


def mix_gold(names: Sequence[str], gold: Collection[str], seed: int) -> list[str]:
    """The items of a queue with the gold items at random places."""
    total, chance = len(names) + len(gold), Random(f"gold {seed}")
    places = dict(zip(sorted(chance.sample(range(total), len(gold))), gold, strict=True))
    others = iter(names)
    return [places[at] if at in places else next(others) for at in range(total)]


def check_hidden(gold: Mapping[str, GoldItem], flagged: Collection[str], names: Sequence[str]) -> None:
    """Raises UsageError if annotators would recognise a gold item by its missing flag."""
    bare = [name for name, each in gold.items() if name not in flagged and not each.why]
    if bare and names and all(name in flagged for name in names):
        raise UsageError(
            f"gold item {bare[0]} has no flag, though all items of the queue have one: annotators "
            'would recognise it; give its line a "why" such as "vision-none: no model is right"'
        )
