"""Boards of benchmarks whose smallest groups make up larger ones: a table of the whole, and one of
each group. `layouts.py` says what they are of.

A number is taken as a score shows it; what a score leaves out is made of its smallest groups, if it
has all of these.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from typing import NamedTuple

from msgspec import structs

from snellen.benchmarks.declaration.hierarchy import Hierarchy
from snellen.scoring.mmt_bench import average_meta_ranks
from snellen_hub.boards.columns import MODEL_COLUMNS, RANK, TIER, mark_of, number_cell, rank_rows, row_of
from snellen_hub.boards.published import PublishedScore
from snellen_hub.boards.tables import BoardCell, BoardColumn, BoardTable, TableRow
from snellen_hub.public_scores import PublicNumber

_EXAMPLES = 3
_COMPUTED = "computed here from the numbers of its subparts"


class PartColumn(NamedTuple):
    """A column with the numbers of a group."""

    group: str
    """The grouping."""
    label: str
    column: BoardColumn


class GroupRanking(NamedTuple):
    """What a table ranks."""

    group: str
    label: str
    name: str
    title: str
    """`{board}` stands for the title of the board."""
    section: str
    score: BoardColumn
    parts: tuple[PartColumn, ...] = ()
    level: str = ""
    """The capability that its questions need."""
    is_always: bool = True
    """Whether it is shown without any model too."""


class WholeColumn(NamedTuple):
    """A number of all smallest groups but some."""

    metric: str
    column: BoardColumn
    without: str = ""
    """A label of the larger groups whose members are left out, also in the average rank."""
    average_rank: BoardColumn | None = None
    """The column with the mean rank over the larger groups."""


class WholeRanking(NamedTuple):
    """The table of the whole."""

    name: str
    section: str
    wholes: tuple[WholeColumn, ...]
    """The first is the headline."""
    parts: tuple[PartColumn, ...]
    guesses: Mapping[str, str] = {}
    """Groupings that hold what guessing scores, and the names of these rows. They have ranks."""


class BoardLayout(NamedTuple):
    """The tables of a board."""

    hierarchy: Hierarchy
    group: str
    """The larger groups that average ranks and radar charts are over."""
    tables: tuple[GroupRanking, ...]
    combine: Callable[[Sequence[PublicNumber]], PublicNumber]
    """The number of a larger group from those of its smallest ones."""
    whole: WholeRanking | None = None
    find_larger: Callable[[str], str] = str
    """The name of a larger group from any of its spellings."""
    has_valid_answers: Callable[[str], bool] | None = None
    """Where models stand only on tables that they can take: whether the note of a smallest group
    counts a valid answer."""
    subgroup: str = ""
    """A grouping between the smallest groups and the larger ones, whose means give theirs."""


def sum_of(numbers: Sequence[PublicNumber]) -> PublicNumber:
    """The sum of points."""
    total = sum(one.value or 0.0 for one in numbers)
    return PublicNumber(total, _count(numbers), unit="points", top=sum(one.top for one in numbers))


def mean_of(numbers: Sequence[PublicNumber]) -> PublicNumber:
    """The plain mean."""
    return PublicNumber(sum(one.value or 0.0 for one in numbers) / len(numbers), _count(numbers))


def _count(numbers: Sequence[PublicNumber]) -> int:
    return sum(one.n for one in numbers) if all(one.n for one in numbers) else 0


def grouped_tables(title: str, published: Sequence[PublishedScore], layout: BoardLayout) -> list[BoardTable]:
    """The table of the whole, if the layout has one, then those of its groups."""
    entries = [_ScoreNumbers(one, layout) for one in published]
    tables = [_whole_table(title, entries, layout, layout.whole)] if layout.whole else []
    return [
        *tables,
        *(
            _group_table(title, entries, layout, table)
            for table in layout.tables
            if table.is_always or not all(entry.why_absent(table) for entry in entries)
        ),
    ]


class _ScoreNumbers:
    """A submission with its numbers by group."""

    def __init__(self, one: PublishedScore, layout: BoardLayout) -> None:
        self.one, self.mark, self._layout = one, mark_of(one), layout
        self._by_label: dict[str, Mapping[str, PublicNumber]] = {}

    @cached_property
    def level(self) -> str:
        """The level that a model is declared to have, else the highest on whose table it stands."""
        if not self._layout.has_valid_answers:
            return ""
        tables = (table for table in self._layout.tables if table.is_always)
        observed = [table.label for table in tables if not self.why_absent(table)]
        return str(self.one.row.facts.get("capability") or max(observed, default=""))

    def why_absent(self, table: GroupRanking) -> str:
        """Why it is not on a table; empty if it is."""
        members = self._layout.hierarchy.members(table.group)[table.label]
        smallest = self.by_label(self._layout.hierarchy.column)
        has_valid_answers = self._layout.has_valid_answers
        if has_valid_answers:
            declared = str(self.one.row.facts.get("capability") or "")
            if declared and declared < table.level:
                return f"declares {declared}"
            for name in members:
                one = smallest.get(name)
                if one is not None and not (one.value is not None and has_valid_answers(one.note)):
                    return f"has no valid answer to {name}"
        if self.number(table.group, table.label):
            return ""
        return f"has no number for {next((name for name in members if name not in smallest), table.label)}"

    def cells(self, numbers: Mapping[str, PublicNumber | None]) -> dict[str, BoardCell]:
        """The cells of the numbers that there are, by column."""
        return {key: number_cell(number, self.mark) for key, number in numbers.items() if number is not None}

    def by_label(self, group: str) -> Mapping[str, PublicNumber]:
        """What the score shows in a grouping, by our names of its labels."""
        if group not in self._by_label:
            hierarchy = self._layout.hierarchy
            is_larger = group in hierarchy.larger
            find = self._layout.find_larger if is_larger else hierarchy.find
            shown = self.one.score.groups.get(group, {})
            self._by_label[group] = {find(label): number for label, number in shown.items()}
        return self._by_label[group]

    def number(self, group: str, label: str) -> PublicNumber | None:
        """The number of a label, shown or computed."""
        shown = self.by_label(group).get(label)
        if group not in self._layout.hierarchy.larger:
            return _with_value(shown)
        members = self._layout.hierarchy.larger[group][label]
        return self._number_of(shown, label) or self._from_smallest(members) or self._from_subgroups(group, members)

    def whole(self, name: str, members: Sequence[str]) -> PublicNumber | None:
        return self._number_of(None, name) or self._from_smallest(members)

    def _number_of(self, number: PublicNumber | None, name: str) -> PublicNumber | None:
        headline = self.one.score.headline if self.one.score.name == name else None
        candidates = map(_with_value, (number, self.one.score.metrics.get(name), headline))
        return next(filter(None, candidates), None)

    def _from_smallest(self, members: Sequence[str]) -> PublicNumber | None:
        smallest = self.by_label(self._layout.hierarchy.column)
        found = [_with_value(smallest.get(name)) for name in members]
        present = [one for one in found if one is not None]
        return self._layout.combine(present) if present and len(present) == len(found) else None

    def _from_subgroups(self, group: str, members: Sequence[str]) -> PublicNumber | None:
        """The mean over smallest groups, from the means of subgroups that they make up."""
        subgroup = self._layout.subgroup
        if not subgroup or group == subgroup:
            return None
        total = 0.0
        for label, within in self._layout.hierarchy.larger[subgroup].items():
            size = sum(name in members for name in within)
            number = _with_value(self.by_label(subgroup).get(label))
            if size and number is None:
                return None
            if number is not None:
                total += size * (number.value or 0.0)
        return PublicNumber(total / len(members), 0, note=_COMPUTED)


def _with_value(number: PublicNumber | None) -> PublicNumber | None:
    return None if number is None or number.value is None else number


def _group_table(title: str, entries: Sequence[_ScoreNumbers], layout: BoardLayout, table: GroupRanking) -> BoardTable:
    lines, absent = [], dict[str, list[str]]()
    for entry in entries:
        reason, number = entry.why_absent(table), entry.number(table.group, table.label)
        if reason or number is None:
            absent.setdefault(reason, []).append(entry.one.row.model)
            continue
        parts = {part.column.key: entry.by_label(part.group).get(part.label) for part in table.parts}
        lines.append(row_of(entry.one, entry.cells({"score": number} | parts), entry.level))
    notices = [f"{len(entries) - len(lines)} of {len(entries)} models have no number here"] if absent else []
    if layout.has_valid_answers:
        notices = _gate_notices(table.level, len(layout.hierarchy.members(table.group)[table.label]), absent)
    return BoardTable(
        table.name,
        table.title.format(board=title),
        table.section,
        (RANK, table.score, TIER, *(part.column for part in table.parts), *MODEL_COLUMNS),
        tuple(rank_rows(lines, "score")),
        notices=tuple(notices),
        models=len(lines),
    )


def _gate_notices(level: str, size: int, absent: Mapping[str, Sequence[str]]) -> list[str]:
    """What gates the table, and whom it leaves out."""
    where = "its dimension" if size == 1 else f"all {size} dimensions"
    gate = f"a model stands here if it declares {level} or more, or declares nothing, and has valid answers in {where}"
    lines = [
        f"not here: {', '.join(models[:_EXAMPLES])}"
        f"{f' and {len(models) - _EXAMPLES} more' if len(models) > _EXAMPLES else ''}: {reason}"
        for reason, models in absent.items()
    ]
    return [gate, *lines]


def _whole_table(title: str, entries: Sequence[_ScoreNumbers], layout: BoardLayout, whole: WholeRanking) -> BoardTable:
    lines = []
    for entry in entries:
        numbers = {
            one.column.key: entry.whole(one.metric, layout.hierarchy.without(one.without)) for one in whole.wholes
        }
        first = whole.wholes[0].column.key
        numbers[first] = numbers[first] or entry.one.score.headline
        numbers |= {part.column.key: entry.number(part.group, part.label) for part in whole.parts}
        lines.append(row_of(entry.one, entry.cells(numbers)))
    guesses = _guess_rows([entry.one for entry in entries], whole)
    lines = _with_average_ranks([*lines, *guesses], whole)
    columns = [column for one in whole.wholes for column in (one.column, one.average_rank) if column is not None]
    return BoardTable(
        name=whole.name,
        title=title,
        section=whole.section,
        columns=(RANK, *columns, TIER, *(part.column for part in whole.parts), *MODEL_COLUMNS),
        rows=tuple(rank_rows(lines, "score")),
        notices=_rank_notices(lines, whole, bool(guesses)),
        models=len(lines),
    )


def _guess_rows(published: Sequence[PublishedScore], whole: WholeRanking) -> list[TableRow]:
    """What guessing scores, as the first submission shows it, unless the table has such rows."""
    names = {one.row.model.casefold() for one in published}
    lines = []
    for group, name in whole.guesses.items():
        source = next((one for one in published if one.score.groups.get(group)), None)
        if source is None or name.casefold() in names:
            continue
        labels = source.score.groups[group]
        cells = {part.column.key: number_cell(labels[part.label]) for part in whole.parts if part.label in labels}
        lines.append(TableRow(model=name, cells=cells, evidence="baseline"))
    return lines


def _with_average_ranks(lines: Sequence[TableRow], whole: WholeRanking) -> list[TableRow]:
    """The rows with their mean ranks, of those that have every number and no mark."""
    keys = {part.label: part.column.key for part in whole.parts}
    means = {}
    for at, line in enumerate(lines):
        cells = [line.cells.get(key, BoardCell()) for key in keys.values()]
        values = {
            label: cell.value
            for label, cell in zip(keys, cells, strict=True)
            if cell.value is not None and not cell.mark
        }
        if len(values) == len(keys):
            means[str(at)] = values
    added: dict[str, dict[str, BoardCell]] = {}
    for one in whole.wholes:
        if one.average_rank is not None:
            ranks = average_meta_ranks(means, [label for label in keys if label != one.without])
            for name, rank in ranks.items():
                added.setdefault(name, {})[one.average_rank.key] = BoardCell(rank)
    return [structs.replace(line, cells=line.cells | added.get(str(at), {})) for at, line in enumerate(lines)]


def _rank_notices(lines: Iterable[TableRow], whole: WholeRanking, has_guesses: bool) -> tuple[str, ...]:
    column = whole.wholes[0].average_rank
    if column is None:
        return ()
    has_rank = [column.key in line.cells for line in lines]
    notices = [f"R and R* are among the {sum(has_rank)} rows that have all {len(whole.parts)} meta-tasks"]
    if not all(has_rank):
        notices.append(f"{has_rank.count(False)} rows lack a meta-task and have neither")
    if has_guesses:
        notices.append("guessing counts as a row in ranks, as in the paper")
    return tuple(notices)
