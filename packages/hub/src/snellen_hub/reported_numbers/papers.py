"""The papers whose tables can be imported: `tables/NAME.toml` says what is printed where.

Tables are joined to cells by model. A number is a cell, or the sum of its smallest groups; where
the sizes of these are known, the right answers behind their percentages give it an interval.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Literal, NamedTuple

import msgspec
from msgspec import Struct, structs

from snellen.benchmarks.declaration.hierarchy import Hierarchy
from snellen.benchmarks.declaration.published_sizes import published_sizes
from snellen.benchmarks.declaration.registry import find_suite
from snellen.core.errors import UnknownName
from snellen.core.summary import Interval, Metric, Summary, Unit
from snellen.data.toml_files import read_toml
from snellen.scoring.grouped import interval_of_mean
from snellen.scoring.leaderboard import recover_counts
from snellen.scoring.suites import as_percent
from snellen.stats.stratified import GroupSums, ScoreSums, group_sums
from snellen_hub.benchmark_data import NewBenchmark
from snellen_hub.boards.layouts import find_layout
from snellen_hub.boards.suite_members import MemberColumn, NewSuite
from snellen_hub.reported_numbers.model_facts import facts_of_model
from snellen_hub.reported_numbers.numbers import (
    Groups,
    ReportedBoard,
    ReportedRow,
    ReportedTables,
    ReportSource,
    make_summary,
    parse_cell,
    read_paper_table,
    share_interval,
)

PAPERS = ("mme", "mmbench", "mmt", "seed", "vlmevalkit")

Cells = dict[str, str]
"""The printed texts of a model, by the name of the column or row that they stand in."""


class PaperTable(Struct, frozen=True, forbid_unknown_fields=True):
    """A table. In those that are not a row a model, the column `subtask` names cells."""

    file: str
    label: str = ""
    """The source of the models that stand in no table before it."""
    rows: Literal["models", "cells", "pairs"] = "models"
    """What a row is: a model; a cell of each model; a model's `acc` and `acc_plus` in a subtask."""
    only: tuple[str, ...] = ()
    """The models that are taken; empty: all."""


class PaperNumber(Struct, frozen=True, forbid_unknown_fields=True):
    """A number of each model, or one for each label of a grouping."""

    metric: str = ""
    """Empty: the label."""
    group: str = ""
    """The grouping; empty: a metric."""
    cell: str = "{}"
    """The name of its cell, with the label in it; empty: it is the sum of its smallest groups."""
    cells: Cells = {}
    """Instead: the labels that it has, and the names of their cells."""
    without: str = ""
    """A label of a larger group whose members are left out."""
    part: int = -1
    """Which of a pair of percentages it is; -1: of both."""
    interval: Literal["", "own", "share", "mean"] = "own"
    """Of the right answers behind it, those of its smallest groups, or the mean of these groups."""
    unit: Unit = "percent"
    top: float = 100.0
    """The highest printed value, of a smallest group where they are summed."""
    note: str = ""
    """A sentence with cells in it."""
    check: Literal["", "subpart", "parts"] = ""
    """By which numbers it is checked: those of a grouping, or of its smallest groups."""
    table: str = ""
    """Where these are printed."""

    def cell_of(self, label: str) -> str:
        return self.cells.get(label) or self.cell.format(label)

    def read(self, cells: Cells, label: str) -> float | None:
        """The printed value, in percent if the number is."""
        value = parse_cell(cells.get(self.cell_of(label), ""))
        if value is None or self.unit != "percent" or self.top == 100:
            return value
        return as_percent(value, self.top)


class PaperFact(Struct, frozen=True, forbid_unknown_fields=True):
    """A fact of a model, its `table` or `other_protocol`, from the last cell that has a text."""

    fact: str
    cells: tuple[str, ...]
    values: dict[str, str] | None = None
    """What the texts mean; others mean nothing."""
    text: str = "{}"


class PaperRemark(Struct, frozen=True, forbid_unknown_fields=True):
    """What readers of some models' numbers must know."""

    models: tuple[str, ...]
    group: tuple[str, ...]
    note: str
    warning: str = "{board}: {model}: {note}"
    labels: tuple[str, ...] = ()
    between: tuple[str, ...] = ()
    """Instead: all that have one of the smallest groups from the first to the last of these."""
    has_interval: bool = True


class PaperBoard(Struct, frozen=True, forbid_unknown_fields=True):
    """A board. What it leaves out is as in the paper's `board`."""

    name: str
    title: str
    description: str
    numbers: tuple[PaperNumber, ...]
    """The first is the headline."""
    tables: tuple[PaperTable, ...]
    about: str = ""
    """Stands in the description."""
    spec: str = ""
    layout: str = "table"
    headline: str = ""
    """A label that is the headline instead, of a grouping of `metrics_of`."""
    metrics_of: tuple[str, ...] = ()
    """Groupings whose numbers are metrics too."""
    size: str = ""
    """Name in `sizes.toml` of the benchmark of whose questions the numbers are shares."""
    sizes: tuple[str, ...] = ()
    """A table with the sizes of labels, its columns of cells and of sizes."""
    note: str = ""
    """Of the source: a sentence with cells in it."""
    no_interval: tuple[str, ...] = ()
    """Models."""
    tolerance: float = 0.0
    contradiction: str = ""
    """What is said of a number whose check fails; `note` is what its own note says."""
    contradiction_note: str = ""
    facts: tuple[PaperFact, ...] = ()
    remarks: tuple[PaperRemark, ...] = ()


class PaperSuite(Struct, frozen=True, forbid_unknown_fields=True):
    """Boards side by side; a column of the table has the plain mean of their percentages."""

    name: str
    members: tuple[str, ...]
    file: str
    average: str
    tolerance: float


class _Leaf(NamedTuple):
    """A smallest group of a model."""

    value: float | None
    sums: tuple[GroupSums, ...] = ()
    """Of its percentages, where its size is known."""
    note: str = ""


def read_paper(name: str, other_protocol: str = "") -> ReportedTables:
    """The boards of a paper; `other_protocol` takes the place of what it says of its rows. Raises
    UnknownName."""
    if name not in PAPERS:
        raise UnknownName("paper", name, PAPERS)
    paper = read_toml(str(Path(__file__).with_name("tables") / f"{name}.toml"))
    boards: dict[str, ReportedBoard] = {}
    suites, warnings = [], []
    for settings in paper["boards"]:
        reader = _BoardReader(msgspec.convert(paper["board"] | settings, PaperBoard))
        boards[reader.board.name] = reader.read(paper["title"], paper["url"], other_protocol)
        warnings += reader.warnings
    for suite in msgspec.convert(paper.get("suites", []), list[PaperSuite]):
        wrong = list(_wrong_averages(suite, boards))
        warnings += [f"{suite.name}: {problem}" for problem in wrong]
        listed = find_suite(suite.name)
        members = tuple(map(MemberColumn, suite.members))
        description = "; ".join((listed.source, *wrong))
        suites.append(NewSuite(name=suite.name, title=listed.title, members=members, description=description))
    return ReportedTables(boards=tuple(boards.values()), suites=tuple(suites), warnings=tuple(warnings))


def _wrong_averages(suite: PaperSuite, boards: Mapping[str, ReportedBoard]) -> Iterator[str]:
    columns = [{row.model: row.summary.headline for row in boards[name].rows} for name in suite.members]
    for row in read_paper_table(suite.file):
        numbers = [column[row["model"]] for column in columns]
        mean = sum(as_percent(one.value or 0.0, one.top) for one in numbers) / len(numbers)
        if abs(mean - float(row[suite.average])) > suite.tolerance:
            yield (
                f"the average of {row['model']} is printed as {row[suite.average]}, the mean of "
                f"its columns is {mean:.2f}"
            )


class _BoardReader:
    """Reads the rows of a board, and notes what contradicts itself."""

    def __init__(self, board: PaperBoard) -> None:
        self.board = board
        self.warnings: list[str] = []
        layout = find_layout(board.layout)
        self._hierarchy = layout.hierarchy if layout else _own_hierarchy(board)
        self._sources: dict[str, str] = {}
        """The first table of each model."""

    def read(self, title: str, url: str, other_protocol: str) -> ReportedBoard:
        board = self.board
        rows = []
        for model, cells in self._join_tables().items():
            facts = dict(_facts(board.facts, cells))
            table = facts.pop("table", self._sources[model])
            source = ReportSource(title, url, table, board.note.format_map(cells))
            protocol = facts.pop("other_protocol", "")
            rows.append(
                ReportedRow(
                    model=model,
                    source=source,
                    other_protocol=other_protocol or protocol,
                    summary=_RowReader(self, self._hierarchy, model, cells).read(),
                    facts=facts_of_model(model, **facts),
                )
            )
        for remark in board.remarks:
            self.warnings += [
                remark.warning.format(board=board.name, model=model, note=remark.note) for model in remark.models
            ]
        description = board.description.format(about=board.about)
        if board.size:
            size = published_sizes()[board.size]
            description += f" Intervals are over {size.questions:,} questions ({size.source})."
        new = NewBenchmark(
            name=board.name, title=board.title, data=None, description=description, spec=board.spec, layout=board.layout
        )
        return ReportedBoard(new, tuple(rows))

    def _join_tables(self) -> dict[str, Cells]:
        joined: dict[str, Cells] = {}
        numbers = {number.cell for number in self.board.numbers}
        for table in self.board.tables:
            for model, printed in self._read_cells(table, joined):
                first = self._sources.setdefault(model, table.label)
                cells = joined.setdefault(model, {})
                for name in numbers & cells.keys() & printed.keys():
                    if parse_cell(cells[name]) != parse_cell(printed[name]):
                        self.warnings.append(
                            f"{self.board.name}: {model}: {table.label} prints another number than {first}"
                        )
                joined[model] = cells | printed | cells
        return joined

    def _read_cells(self, table: PaperTable, models: Iterable[str]) -> Iterator[tuple[str, Cells]]:
        for row in read_paper_table(table.file):
            if table.rows == "models":
                if not table.only or row["model"] in table.only:
                    yield row["model"], row
                continue
            name = self._hierarchy.find(row["subtask"])
            if table.rows == "pairs":
                yield row["model"], {f"{name}.{part}": row[part] for part in ("acc", "acc_plus")}
                continue
            for model in models:
                yield model, {name: row[model]}


class _RowReader:
    """Reads the numbers of a model."""

    def __init__(self, reader: _BoardReader, hierarchy: Hierarchy, model: str, cells: Cells) -> None:
        self._board, self._warnings = reader.board, reader.warnings
        self._hierarchy, self._model, self._cells = hierarchy, model, cells
        self._leaves = {name: self._leaf(name, size) for name, size in hierarchy.sizes.items()}

    def read(self) -> Summary:
        metrics: dict[str, Metric] = {}
        groups: Groups = {}
        for number in self._board.numbers:
            kept = groups.setdefault(number.group, {}) if number.group else metrics
            for label in self._labels(number):
                metric = self._metric(number, label)
                if metric.value is not None:
                    kept[label] = metric
        for column in self._board.metrics_of:
            metrics |= groups[column]
        name = self._board.headline or self._board.numbers[0].metric
        return make_summary(metrics.get(name, Metric(name, None, 0)), metrics.values(), groups)

    def _labels(self, number: PaperNumber) -> Iterable[str]:
        if not number.group:
            return (number.metric,)
        return number.cells or self._hierarchy.members(number.group)

    def _members(self, number: PaperNumber, label: str) -> Sequence[str]:
        """The smallest groups that a number is of."""
        if number.group:
            return self._hierarchy.members(number.group).get(label, ())
        return self._hierarchy.without(number.without)

    def _leaf(self, name: str, size: int) -> _Leaf:
        if f"{name}.acc" in self._cells:
            return self._pair(name, size)
        numbers = (one for one in self._board.numbers if one.group == self._hierarchy.column)
        value = next(numbers).read(self._cells, name)
        if value is None or not size:
            return _Leaf(value)
        right = round(value * size / 100)
        sums = ScoreSums(size, right, right)
        return _Leaf(value, (GroupSums(sums, sums, {}),))

    def _pair(self, name: str, size: int) -> _Leaf:
        """A score from the percentages of right questions and of images with both right."""
        printed = self._cells[f"{name}.acc"], self._cells[f"{name}.acc_plus"]
        found = recover_counts(*printed, size)
        if found is None:
            raise ValueError(f"{self._model}, {name}: no counts give {printed}")
        note = "" if found.images == size else f"fits {found.images} of {size} images only"
        if note:
            self._warnings.append(f"{self._board.name}: {self._model}, {name}: {note}")
        one = found.right - 2 * found.both
        right = [2] * found.both + [1] * one + [0] * (found.images - found.both - one)
        images = [f"{name} {number}" for number in range(found.images)]
        questions = [float(number < count) for count in right for number in range(2)]
        of_questions = group_sums(questions, [image for image in images for _ in range(2)])
        of_images = group_sums([float(count == 2) for count in right], images)
        return _Leaf(found.score, (of_questions, of_images), note)

    def _metric(self, number: PaperNumber, label: str) -> Metric:
        leaves = {name: self._leaves[name] for name in self._members(number, label)}
        value, top = number.read(self._cells, label), number.top
        if not number.cell:
            value, top = sum(leaf.value or 0.0 for leaf in leaves.values()), top * len(leaves)
        remark = self._remark(number.group, label, leaves)
        notes = [number.note.format_map(self._cells) if value is not None else ""]
        if number.check and value is not None:
            notes.append(self._check(number, label, value, leaves))
        notes.append(remark.note if remark else "")
        notes += [leaf.note for leaf in leaves.values() if number.group == self._hierarchy.column]
        n = sum(leaf.sums[max(0, number.part)].total.n for leaf in leaves.values() if leaf.sums)
        interval = None
        if n and self._model not in self._board.no_interval and (remark is None or remark.has_interval):
            interval = _interval(number, list(leaves.values()), value or 0.0, n, top)
        metric = Metric(number.metric or label, value, n, interval, "; ".join(filter(None, notes)))
        if number.unit == "percent":
            return metric
        return structs.replace(metric, unit=number.unit, top=top)

    def _check(self, number: PaperNumber, label: str, value: float, leaves: Mapping[str, _Leaf]) -> str:
        """The note of a number that its parts contradict, which is also warned of."""
        values = {name: leaf.value for name, leaf in leaves.items()}
        for other in self._board.numbers:
            if other.group == number.check:
                values |= {
                    name: other.read(self._cells, one)
                    for one in self._labels(other)
                    for name in self._members(other, one)
                    if name in values
                }
        present = [one for one in values.values() if one is not None]
        if not present or len(present) < len(values):
            return ""
        mean = sum(present) / len(present)
        if number.interval == "share":
            sums = [leaf.sums[0].total for leaf in leaves.values()]
            mean = 100 * sum(one.total for one in sums) / sum(one.n for one in sums)
        if abs(mean - value) <= self._board.tolerance:
            return ""
        cell = number.cell_of(label)
        places = {
            "board": self._board.name,
            "model": self._model,
            "cell": cell,
            "label": label,
            "printed": self._cells[cell],
            "mean": mean,
            "parts": len(present),
            "table": number.table,
        }
        self._warnings.append(self._board.contradiction.format(**places))
        return self._board.contradiction_note.format(**places)

    def _remark(self, group: str, label: str, members: Iterable[str]) -> PaperRemark | None:
        for remark in self._board.remarks:
            if self._model not in remark.models or group not in remark.group:
                continue
            if remark.between:
                names = list(self._cells)
                first, last = (names.index(self._hierarchy.find(one)) for one in remark.between)
                if not set(members).isdisjoint(names[first : last + 1]):
                    return remark
            elif label in remark.labels:
                return remark
        return None


def _interval(number: PaperNumber, leaves: Sequence[_Leaf], value: float, n: int, top: float) -> Interval | None:
    part = number.part
    sums = [one for leaf in leaves for one in (leaf.sums if part < 0 else leaf.sums[part:][:1])]
    if number.interval == "mean":
        return interval_of_mean(sums, top=top)
    if number.interval == "share":
        return share_interval(sum(one.total.total for one in sums), n)
    return share_interval(round(value * n / 100), n) if number.interval else None


def _own_hierarchy(board: PaperBoard) -> Hierarchy:
    """The labels of a board that is laid out plainly, with their sizes; a single one without a name
    where the size of the whole is known."""
    if board.sizes:
        file, name, column = board.sizes
        listed = {row[name]: int(row[column]) for row in read_paper_table(file)}
        number = next(number for number in board.numbers if number.cells)
        sizes = {label: listed[cell] for label, cell in number.cells.items()}
        return Hierarchy(number.group, sizes, {}, str)
    whole = {"": published_sizes()[board.size].questions} if board.size else {}
    return Hierarchy("", whole, {}, str)


def _facts(facts: Sequence[PaperFact], cells: Cells) -> Iterator[tuple[str, str]]:
    for fact in facts:
        printed = [name for name in fact.cells if cells.get(name, "-") not in ("", "-")]
        for name in printed[-1:]:
            text = cells[name] if fact.values is None else fact.values.get(cells[name], "")
            if text:
                yield fact.fact, fact.text.format(text, name=name)
