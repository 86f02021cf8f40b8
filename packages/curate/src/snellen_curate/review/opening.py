"""Start a review in a folder, go on with it, and end it: the next version of a data set, with a log of
every change."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple

import msgspec

from snellen.core.errors import UsageError
from snellen.data_sets.decisions import Decision, Evidence
from snellen.data_sets.items import Item, ItemTable
from snellen.data_sets.step import STEP_FILE, Step, open_step, read_step
from snellen.report.document import Block, Cell, Column, Document, EmptyLine, IntervalEstimate, Line, Table
from snellen.report.format import plural
from snellen.stats.agreement import AgreementEstimate
from snellen.store.runs import write_json
from snellen_curate.open_data import open_items
from snellen_curate.review.annotators import AnnotatorFigures, FieldAgreement
from snellen_curate.review.board import ReviewBoard, ReviewOutcome
from snellen_curate.review.edits import apply_changes, changes_before_and_after
from snellen_curate.review.entries import ReviewEntry
from snellen_curate.review.queue import QUEUE_FILE, ReviewSettings, read_queue, write_queue

STEP = "review"
RULE = "person"
UNDECIDED_RULE = "undecided"
AGREEMENT_FILE = "agreement.json"
ANNOTATORS_FILE = "annotators.json"
UndecidedAction = Literal["refuse", "keep", "drop", "flag"]
"""What becomes of items that nobody decided, or about which a conflict is open."""


class FinishedReview(NamedTuple):
    """What the next version of the data set is made of."""

    items: int
    """Items that are written."""
    kept: int
    fixed: int
    dropped: int
    undecided: int
    changed_fields: int


def finish_review(
    step: Step, table: ItemTable, board: ReviewBoard, undecided: UndecidedAction = "refuse"
) -> FinishedReview:
    """Write `items.jsonl`, decisions, `agreement.json` and `annotators.json`.

    Items outside the queue are written as they are. Raises UsageError if items are undecided and
    `undecided` does not say what becomes of them, and StorageError.
    """
    outcomes = dict(board.outcomes())
    open_items = [name for name, each in outcomes.items() if not each.action]
    if open_items and undecided == "refuse":
        raise UsageError(_describe_undecided(outcomes, open_items))
    for name, outcome in outcomes.items():
        decision = _decision(board, name, outcome, undecided)
        before = step.decisions.get(name)
        if before is None or msgspec.structs.replace(before, at=decision.at) != decision:
            step.decide(decision)
    written = step.write_items(_next_version(table, board, step))
    changed = sum(len(step.decisions[name].changes) for name in outcomes)
    agreement = [msgspec.to_builtins(each) for each in board.agreement()]
    for name, value in ((AGREEMENT_FILE, agreement), (ANNOTATORS_FILE, board.figures()._asdict())):
        write_json(step.folder / name, value)
    actions = Counter(step.decisions[name].action for name in outcomes)
    result = FinishedReview(written, actions["keep"], actions["fix"], actions["drop"], len(open_items), changed)
    step.finish({"queue": len(outcomes), **result._asdict()})
    return result


def _describe_undecided(outcomes: dict[str, ReviewOutcome], names: list[str]) -> str:
    conflicts = sum(outcomes[name].status == "conflict" for name in names)
    parts = [
        f"{count:,} {what}"
        for count, what in ((len(names) - conflicts, "without enough decisions"), (conflicts, "in conflict"))
        if count
    ]
    return (
        f"of {plural(len(outcomes), 'item')}, {' and '.join(parts)} (first: {names[0]}); review "
        "them, or say with --finish keep, drop or flag what becomes of them"
    )


def _decision(board: ReviewBoard, name: str, outcome: ReviewOutcome, undecided: UndecidedAction) -> Decision:
    queued = board.queue.items[name]
    said = board.reviews(name).last_decisions()
    evidence = tuple(map(_describe, said))
    at = max((entry.at for entry in said), default="")
    if not outcome.action:
        action = "flag" if undecided == "refuse" else undecided
        reason = outcome.reason or "not enough people decided"
        return Decision(name, action, STEP, UNDECIDED_RULE, reason, evidence, at=at)
    changes = changes_before_and_after(queued.item, outcome.changes)
    return Decision(name, outcome.action, STEP, RULE, outcome.reason, evidence, changes, ", ".join(outcome.by), at)


def _describe(entry: ReviewEntry) -> Evidence:
    said = entry.reason or entry.comment
    if entry.action == "answer":
        said = entry.answer + (f" ({entry.ability})" if entry.ability else "")
    who = f"{entry.by} (adjudicator)" if entry.role == "adjudicator" else entry.by
    return Evidence(who, reply=said, verdict=entry.action)


def _next_version(table: ItemTable, board: ReviewBoard, step: Step) -> Iterator[Item]:
    for item in table:
        decision = step.decisions.get(item.id) if item.id in board.queue.items else None
        if decision is None or decision.action in ("keep", "flag"):
            yield item
        elif decision.action == "fix":
            changes = {name: after for name, (_, after) in decision.changes.items()}
            yield apply_changes(board.queue.items[item.id].item, changes)


def agreement_document(agreement: Sequence[FieldAgreement], annotators: Sequence[AnnotatorFigures]) -> Document:
    """How far annotators agree on each field, and what was measured of each of them."""
    blocks: list[Block] = []
    for each in agreement:
        if each.raw.value is None:
            text = f"agreement on the {each.field}: no item has decisions of two annotators"
            blocks.append(Line(text))
        else:
            blocks.append(_agreement_table(each))
    columns = (
        Column("annotator"),
        Column("items", "count"),
        Column("decisions"),
        Column("kappa with the others", "number", 2),
        Column("chose the key", "share"),
        Column("gold items right", "share"),
        Column("median seconds", "number"),
    )
    rows = [_annotator_cells(each) for each in annotators]
    if rows:
        blocks += [EmptyLine(), Table("annotators", columns, rows)]
    blocks += [
        Line(f"look at what {each.annotator} decided: {each.warning}", "notice", is_unbroken=True)
        for each in annotators
        if each.warning
    ]
    return Document(blocks, {"fields": agreement, "annotators": annotators})


def _agreement_table(each: FieldAgreement) -> Table:
    kappas = [
        (f"Cohen's kappa, {pair.first} and {pair.second}", _value(pair.kappa))
        for pair in each.pairs
        if pair.kappa.items
    ]
    rows = [("agreeing pairs", _value(each.raw)), *kappas, ("Krippendorff's alpha", _value(each.alpha))]
    title = f"agreement on the {each.field}, {each.raw.items} items of two or more annotators"
    return Table(title, (Column("measure"), Column("value", "number", 2)), rows)


def _annotator_cells(each: AnnotatorFigures) -> list[Cell]:
    shares = ", ".join(f"{100 * share:.0f} % {value}" for value, share in each.choices.items())
    return [
        each.annotator,
        each.items,
        shares if len(each.choices) <= 3 else "",
        IntervalEstimate(each.kappa.value, each.kappa.interval),
        *(_value(found) if found.items else "" for found in (each.key, each.gold)),
        each.seconds if each.seconds is not None else "",
    ]


def _value(estimate: AgreementEstimate) -> Cell:
    if estimate.value is None:
        return "not defined: all values are the same, or no item has two"
    return IntervalEstimate(estimate.value, estimate.interval)


def finished_line(result: FinishedReview, folder: Path) -> str:
    """A finished review as a line of text."""
    return (
        f"{folder}: {plural(result.items, 'item')}; of the queue {result.kept:,} kept, "
        f"{result.fixed:,} fixed ({plural(result.changed_fields, 'field')}), {result.dropped:,} "
        "dropped" + (f", {result.undecided:,} were undecided" if result.undecided else "")
    )


@dataclass(frozen=True, slots=True)
class Review:
    """A review and its data."""

    table: ItemTable
    folder: Path
    settings: ReviewSettings
    board: ReviewBoard

    def finish(self, undecided: UndecidedAction = "refuse") -> FinishedReview:
        """Write the next version of the data set into the folder: see `finish_review`."""
        with open_step(self.folder, STEP, _as_json(self.settings), self.table) as step:
            return finish_review(step, self.table, self.board, undecided)


def default_folder(data: str | Path) -> Path:
    """The folder of a review if none is named: beside the data, with the ending `-reviewed`."""
    text = str(data)
    path = Path(text.rpartition("/")[2] if "://" in text else text).expanduser()
    if path.name in ("", ".."):
        path = path.resolve()
    name = path.stem if path.is_file() else path.name
    return path.with_name(f"{name}-reviewed")


def open_review(
    data: str | Path, out: str | Path, options: Mapping[str, Any] | None = None, *, may_be_empty: bool = False
) -> Review:
    """Open the review of `data` in the folder `out`, new or of an earlier start.

    `options` are fields of `ReviewSettings`; those that are left out are as they were, or the
    defaults. With `may_be_empty`, a queue without items is no mistake. Raises UsageError for
    options that are not those of the review, for nothing to review and for whatever `open_step`
    refuses.
    """
    folder = Path(out).expanduser()
    is_new = not (folder / STEP_FILE).exists()
    earlier: dict[str, Any] = {}
    if not is_new:
        info = read_step(folder)
        earlier = info.settings if info.step == STEP else {}
    settings = _settings({**earlier, **(options or {})})
    table = open_items(data, settings.columns)
    queue = read_queue(table, settings, may_be_empty=may_be_empty)
    with open_step(folder, STEP, _as_json(settings), table) as step:
        if is_new:
            step.finish({"queue": len(queue.items)}, "waiting")
        if not (folder / QUEUE_FILE).exists():
            write_queue(folder, queue, settings)
    return Review(table, folder, settings, ReviewBoard(folder, queue, settings))


def _settings(values: Mapping[str, Any]) -> ReviewSettings:
    try:
        settings = msgspec.convert(values, ReviewSettings)
    except msgspec.ValidationError as error:
        raise UsageError(f"these are no settings of a review: {error}") from error
    if settings.annotators < 1:
        raise UsageError(f"--limits annotators={settings.annotators}: expected 1 or more")
    if settings.queue == "sample" and settings.sample < 1:
        raise UsageError(f"--limit is {settings.sample}; expected 1 or more")
    return settings


def _as_json(settings: ReviewSettings) -> dict[str, Any]:
    """The settings as they are read back from `step.json`, where tuples are lists."""
    values: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(settings))
    if not settings.gold:
        # Reviews that began before there were gold items go on.
        del values["gold"]
    return values
