"""What became of every record, in `records.jsonl` of a data set folder, a line for each; and the
questions in numbers: options, sources and what the texts give away, per subtask.

Records of which nothing was wanted are not in `decisions.jsonl`, which is about items and what was
looked at for them: of a million records, 200 per subtask are drawn.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

import msgspec
from msgspec import Struct

from snellen.core.atomic_write import save_json_lines
from snellen.core.summary import Interval
from snellen.data_sets.decisions import FAILED, Evidence, Exclusion
from snellen.report.document import Cell, Column, Document, IntervalEstimate, Line, Table
from snellen_curate.metadata.catalogue import Catalogue
from snellen_curate.metadata.drafts import QuestionDraft
from snellen_curate.metadata.guess_check import GuessCheck
from snellen_curate.metadata.records import RecordFiles

RECORDS_FILE = "records.jsonl"
NOT_DRAWN = Exclusion("not drawn", "others were drawn for the subtasks that it fits")


class RecordOutcome(msgspec.Struct, frozen=True, omit_defaults=True):
    """A line of `records.jsonl`."""

    record: str
    items: tuple[str, ...] = ()
    """Ids of the items made of it."""
    rule: str = ""
    """Why there is none: `not drawn`, `template`, `image`, `licence`, ..."""
    reason: str = ""


class RecordOutcomes:
    """Items and refusals by record, while a data set is made."""

    def __init__(self, catalogue: Catalogue) -> None:
        self._catalogue = catalogue
        self._items: dict[int, list[str]] = {}
        self._problems: dict[int, Exclusion] = {}
        self.refused: dict[str, Exclusion] = {}
        """Why a record that was drawn gave no item, by the id that the item would have."""
        self.failed = 0
        """Requests that failed."""
        self.evidence: dict[str, tuple[Evidence, ...]] = {}
        """What was asked for an item."""

    def add(self, row: int, item: str, asked: Sequence[Evidence]) -> None:
        self._items.setdefault(row, []).append(item)
        if asked:
            self.evidence[item] = tuple(asked)

    def refuse(self, row: int, item: str, problem: Exclusion) -> None:
        """Note that a record gave no item. That a second question is one too many for a record is
        no problem."""
        if row in self._items and problem.rule == "target":
            return
        self._problems[row] = problem
        self.refused[item] = problem

    def withdraw(self, item: str, problem: Exclusion) -> None:
        """Note that an item is left out after all."""
        row = next(row for row, items in self._items.items() if item in items)
        self._items[row].remove(item)
        if not self._items[row]:
            del self._items[row]
        self.refuse(row, item, problem)

    def fail(self, row: int, message: str) -> None:
        self._problems[row] = Exclusion(FAILED, message)
        self.failed += 1

    def problem(self, row: int) -> Exclusion | None:
        """Why there is no item of a record; None if there is one."""
        if row in self._items:
            return None
        return self._problems.get(row) or self._catalogue.problem(row) or NOT_DRAWN

    def count_rules(self) -> dict[str, int]:
        """Number of records without an item, by rule."""
        catalogue = self._catalogue
        with_reason = {*self._problems, *catalogue.problems} - self._items.keys()
        rules = Counter(problem.rule for row in with_reason if (problem := self.problem(row)) is not None)
        unmatched = catalogue.count_unmatched()
        rules["template"] += unmatched
        rules[NOT_DRAWN.rule] = len(catalogue) - len(with_reason) - len(self._items) - unmatched
        return {rule: count for rule, count in sorted(rules.items()) if count}

    def describe_reasons(self) -> str:
        """The most frequent reasons for which records have no item, and how often."""
        problems = map(self.problem, range(len(self._catalogue)))
        reasons = Counter(problem.reason for problem in problems if problem is not None)
        return "; ".join(f"{count} times: {text}" for text, count in reasons.most_common(3))

    def examples(self) -> dict[str, str]:
        """The first records that cannot be used, with the reason: what a user should look at."""
        names = self._catalogue.names
        pairs = [(names[row], problem.reason) for row, problem in self._catalogue.problems.items()]
        pairs += [
            (name, problem.reason)
            for name, problem in self.refused.items()
            if problem.rule in ("picture", "box", "size", "keypoint")
        ]
        return dict(pairs[:5])

    def write(self, files: RecordFiles, folder: Path) -> None:
        """Write `records.jsonl`. Raises StorageError."""
        outcomes = (
            RecordOutcome(line.name, tuple(self._items.get(row, ())), *(self.problem(row) or ()))
            for row, line in enumerate(files)
        )
        save_json_lines(folder / RECORDS_FILE, outcomes)


class SubtaskCounts(Struct, omit_defaults=True):
    task: str
    items: int
    sources: dict[str, int]
    """Items by source."""
    available: dict[str, int]
    """Records that the template takes, by source."""
    options: dict[str, int]
    """Items by number of options."""
    guessing: GuessCheck | None = None
    """What the texts of its questions give away."""


class QuestionCounts(Struct, omit_defaults=True):
    """What was made. In `step.json` as `counts`."""

    records: int
    items: int
    unused: dict[str, int] = {}
    """Records without an item, by reason."""
    failed: int = 0
    """Requests that failed: the same command asks again."""
    subtasks: dict[str, SubtaskCounts] = {}
    sources: dict[str, int] = {}
    options: dict[str, int] = {}
    chance: float | None = None
    """Percent right by guessing."""
    without_licence: int = 0
    problems: dict[str, str] = {}
    """The first records that could not be used, with the reason."""
    stopped: str = ""
    """Why a budget stopped it, if one did."""

    @property
    def findings(self) -> list[str]:
        """What gives answers away, a sentence each."""
        return [
            f"{name} can be guessed: {sentence}"
            for name, subtask in self.subtasks.items()
            if subtask.guessing is not None
            for sentence in subtask.guessing.findings()
        ]


def count_questions(
    drafts: Sequence[QuestionDraft],
    available: Mapping[str, Mapping[str, int]],
    outcomes: RecordOutcomes,
    records: int,
    guessing: Mapping[str, GuessCheck],
) -> QuestionCounts:
    """Count what was made. `snellen curate statistics` counts words, places and media."""
    subtasks: dict[str, SubtaskCounts] = {}
    for name, by_source in available.items():
        of_subtask = [draft for draft in drafts if draft.template.subtask == name]
        tasks = Counter(draft.template.task or draft.record.task for draft in of_subtask)
        subtasks[name] = SubtaskCounts(
            task=tasks.most_common(1)[0][0] if tasks else "",
            available=dict(by_source),
            guessing=guessing.get(name),
            **_describe(of_subtask),
        )
    return QuestionCounts(
        records=records,
        unused=outcomes.count_rules(),
        failed=outcomes.failed,
        subtasks=subtasks,
        chance=round(100 * fmean(1 / draft.size for draft in drafts), 2) if drafts else None,
        without_licence=sum(not draft.license for draft in drafts),
        problems=outcomes.examples(),
        **_describe(drafts),
    )


def _describe(drafts: Sequence[QuestionDraft]) -> dict[str, Any]:
    """What is counted of all questions, and of each subtask's."""
    sizes = Counter(draft.size for draft in drafts)
    return {
        "items": len(drafts),
        "sources": dict(Counter(draft.record.source for draft in drafts)),
        "options": {str(size): count for size, count in sorted(sizes.items())},
    }


_MEANINGS = {
    "options": "too few wrong options that differ from the right one and from each other",
    "template": "no template asks for what it has",
    "target": "nothing in it can be asked about without ambiguity",
    "not drawn": "there are more than --limits per_subtask",
    "balance": "enough other questions have its answer as their key",
    "text probe": "its answer can be told from the texts alone",
    "placeholder": "it lacks what every phrasing mentions",
    "licence": "nobody states one",
    "picture": "it cannot be read",
    "size": "its boxes are for a picture of another size",
}
"""What the rules mean by which a record gives no item."""
_COLUMNS = (
    Column("subtask"),
    Column("items", "count"),
    Column("options"),
    Column("texts alone", "points"),
    Column("chance", "points"),
    Column("left out", "count", is_optional=True),
    Column("sources"),
)


def counts_document(counts: QuestionCounts, folder: str) -> Document:
    """A row for each subtask, then what holds for all."""
    notes = ("left out: questions that the texts alone answered",)
    rows = [_subtask_cells(name, subtask) for name, subtask in counts.subtasks.items()]
    lines = (Line(text, is_unbroken=True) for text in _sentences(counts, folder))
    return Document([Table("questions by subtask", _COLUMNS, rows, notes), *lines], counts)


def _subtask_cells(name: str, subtask: SubtaskCounts) -> list[Cell]:
    sizes = "-".join(dict.fromkeys([*subtask.options][:1] + [*subtask.options][-1:]))
    sources = ", ".join(f"{source} {count}" for source, count in subtask.sources.items())
    check = subtask.guessing
    chance = check.chance if check is not None and subtask.items else ""
    guessed: Cell = "not measured" if chance else ""
    if check is not None and check.right is not None:
        guessed = IntervalEstimate(check.right, Interval(check.low, check.high, "wilson"))
    left_out = check.left_out if check is not None else 0
    return [name, subtask.items, sizes, guessed, chance, left_out, sources]


def _sentences(counts: QuestionCounts, folder: str) -> Iterator[str]:
    for finding in counts.findings:
        yield f"{finding}; see snellen curate statistics"
    for rule, count in counts.unused.items():
        meaning = f"{rule}: {_MEANINGS[rule]}" if rule in _MEANINGS else rule
        yield f"records without an item: {count} ({meaning})"
    if counts.unused:
        yield f"  the reason of each is in {folder}/records.jsonl"
    for name, reason in counts.problems.items():
        yield f"  {name}: {reason}"
    if counts.without_licence:
        yield f"items without a licence: {counts.without_licence}, flagged for review"
    yield f"{folder}: {counts.items} questions of {counts.records} records"
    if counts.stopped:
        yield f"stopped: {counts.stopped}; the same command goes on"
    elif counts.failed:
        yield f"{counts.failed} requests failed; the same command asks again"
