"""Rows in the layout of their authors, as a family's file describes it, brought into the common one."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from string import ascii_uppercase

from msgspec import Struct, structs

from snellen.core.errors import DataError
from snellen.core.literals import parse_json_or_literal
from snellen.core.sample import Row, Sample, sampling_key
from snellen.data.columns import GOLD_COLUMNS, gold_column, row_id


class RowLayout(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Where the parts of a question stand. Columns are named in lower case."""

    columns: dict[str, str] = {}
    """Our name of a column to that of the data."""
    answers: dict[str, str] = {}
    """What the data write for a gold answer, to the gold answer."""
    answer_key: str = ""
    """The gold answers are the values of this key in a list of objects."""
    answer_mark: str = ""
    """The gold answer is what stands behind the last of these marks."""
    place: str = ""
    """Column with the place of the right option, from 0, in rows without a gold answer."""
    distractors: tuple[str, ...] = ()
    """Columns of wrong options. They and the gold answer are the options, in an order that the
    row's id decides, so that it is the same in every run."""
    list_options: str = ""
    """A line before the options, `(A) text`, which are then part of an open question."""

    def read(self, row: Row) -> Row:
        """The row in the common layout. Raises DataError."""
        cells = dict(row.cells)
        for ours, theirs in self.columns.items():
            if theirs in cells:
                cells[ours] = cells.pop(theirs)
        if self.place in cells and gold_column(cells) is None:
            cells[GOLD_COLUMNS[0]] = ascii_uppercase[int(cells.pop(self.place))]
        gold = gold_column(cells)
        if gold is not None:
            held = cells[gold].strip()
            if self.answer_key and held.startswith("["):
                items = parse_json_or_literal(held)
                held = json.dumps([one[self.answer_key] if isinstance(one, dict) else one for one in items])
            if self.answer_mark:
                held = held.rpartition(self.answer_mark)[2].strip()
            cells[gold] = self.answers.get(held, held)
        if self.distractors and "A" not in cells:
            cells.update(self._drawn_options(row, cells, gold))
        if self.list_options and "A" in cells:
            options = [cells.pop(letter) for letter in list(_letters_of(cells))]
            lines = (f"({letter}) {text}" for letter, text in zip(ascii_uppercase, options, strict=False))
            cells["question"] = "\n".join((cells.get("question", ""), self.list_options, *lines))
        return structs.replace(row, cells=cells)

    def _drawn_options(self, row: Row, cells: Mapping[str, str], gold: str | None) -> Iterator[tuple[str, str]]:
        wrong = [cells[name] for name in self.distractors if name in cells]
        if gold is None or len(wrong) < len(self.distractors):
            expected = ", ".join((GOLD_COLUMNS[0], *self.distractors))
            raise DataError(f"no options; got the columns {', '.join(cells)}; expected A, B, ... or {expected}")
        texts = sorted({cells[gold], *wrong}, key=lambda text: sampling_key(row_id(row), text))
        yield from zip(ascii_uppercase, texts, strict=False)
        yield gold, ascii_uppercase[texts.index(cells[gold])]


def keep_cells(names: tuple[str, ...], sample: Sample, row: Row) -> Sample:
    """The sample with these cells of its row, by name."""
    held = {name: row.cells[name] for name in names if name in row.cells}
    return structs.replace(sample, metadata={**sample.metadata, **held})


def _letters_of(cells: Mapping[str, str]) -> Iterator[str]:
    for letter in ascii_uppercase:
        if letter not in cells:
            return
        yield letter
