"""Rows in the layout of their authors, as a family's file describes it, brought into the common one."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from string import ascii_uppercase
from typing import Any

from msgspec import Struct, structs

from snellen.core import lazy_re as re
from snellen.core.errors import DataError
from snellen.core.literals import parse_json_or_literal
from snellen.core.sample import Row, Sample, sampling_key
from snellen.data.columns import GOLD_COLUMNS, ID_COLUMNS, gold_column, id_text, row_gold, row_id
from snellen.data.documents import cell_text
from snellen.data.tables.options import split_inline_options, spread_options

_BRACES = re.compile(r"\{([a-z0-9_ -]+)\}")
_LABELS = {str(place): label for place, label in enumerate(ascii_uppercase)}


class RowLayout(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Where the parts of a question stand. Columns are named in lower case."""

    question: str = ""
    """The question as a text with names of columns in braces: `From {time_start} seconds. {question}`."""
    columns: dict[str, str] = {}
    """Our name of a column to that of the data; a gold answer that is named here is the only one.
    `a+b` joins two columns, which stay."""
    nothing: tuple[str, ...] = ()
    """Cells that stand for no value."""
    spread: str = ""
    """A column that holds a JSON object and a path in it, such as `answer.page_info`: the texts of the
    object there become cells."""
    inline_options: bool = False
    """Whether the options stand in the last lines of the question."""
    lettered: bool = False
    """Whether the texts of listed options begin with their letters, as those of videos may."""
    questions: str = ""
    """A column that lists the questions about the row's video, each an object: a row for each."""
    lacking_answer: str = ""
    """The answer of questions that are published without one: they are not asked."""
    answers: dict[str, str] = {}
    """What the data write for a gold answer, to the gold answer."""
    answer_key: str = ""
    """The gold answers are the values of this key in a list of objects; of a single object, the
    record that it has there."""
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
        cells = self._named_cells(row)
        if self.inline_options:
            split = split_inline_options(cells.get("question", ""))
            cells |= {**split.options, "question": split.question} if split.options else {}
        if self.question:
            cells["question"] = _BRACES.sub(lambda name: cells.get(name[1], ""), self.question)
        if self.place in cells and gold_column(cells) is None:
            cells[GOLD_COLUMNS[0]] = self._label_at(cells.pop(self.place))
        if self.spread:
            cells |= _texts_at(cells, self.spread)
        gold = gold_column(cells)
        if gold is not None:
            held = cells[gold].strip()
            if self.answer_key and held.startswith(("[", "{")):
                held = self._take_answer(held)
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

    def rows(self, rows: Iterable[Row]) -> Iterator[Row]:
        """A row for each question, with the cells of the video."""
        for row in rows:
            listed = row.cells.get(self.questions, "") if self.questions else ""
            if not listed:
                yield row
                continue
            shared = {name: text for name, text in row.cells.items() if name not in (self.questions, *ID_COLUMNS)}
            for asked in parse_json_or_literal(listed):
                yield structs.replace(row, cells={**shared, **_cells_of_question(asked)})

    def keeps(self, row: Row) -> bool:
        """Whether a question is published with its answer."""
        return not self.lacking_answer or self.lacking_answer not in row_gold(row)

    def _label_at(self, place: str) -> str:
        if label := _LABELS.get(id_text(place)):
            return label
        raise DataError(f"{self.place} is {place!r}; expected the place of the right option, counted from 0")

    def _take_answer(self, held: str) -> str:
        value = parse_json_or_literal(held)
        if isinstance(value, dict):
            return json.dumps(value.get(self.answer_key, value), ensure_ascii=False)
        return json.dumps([one[self.answer_key] if isinstance(one, dict) else one for one in value])

    def _named_cells(self, row: Row) -> dict[str, str]:
        cells = {name: text for name, text in row.cells.items() if text.strip() not in self.nothing}
        named = {ours: text for ours, theirs in self.columns.items() if (text := _take(cells, theirs))}
        if not named.keys().isdisjoint(GOLD_COLUMNS):
            for name in GOLD_COLUMNS:
                cells.pop(name, None)
        cells |= named
        spread_options(cells)
        return cells

    def _drawn_options(self, row: Row, cells: Mapping[str, str], gold: str | None) -> Iterator[tuple[str, str]]:
        wrong = [cells[name] for name in self.distractors if name in cells]
        if gold is None or len(wrong) < len(self.distractors):
            expected = ", ".join((GOLD_COLUMNS[0], *self.distractors))
            raise DataError(f"no options; got the columns {', '.join(cells)}; expected A, B, ... or {expected}")
        texts = sorted({cells[gold], *wrong}, key=lambda text: sampling_key(row_id(row), text))
        yield from zip(ascii_uppercase, texts, strict=False)
        yield gold, ascii_uppercase[texts.index(cells[gold])]


def _texts_at(cells: Mapping[str, str], path: str) -> dict[str, str]:
    """The texts of the object at a path of a column's JSON, by name in lower case; none where there is no
    such object. A list of texts is joined."""
    column, *names = path.split(".")
    try:
        value = json.loads(cells.get(column, "{}"))
    except ValueError:
        return {}
    for name in names:
        value = value.get(name) if isinstance(value, dict) else None
    found = value.items() if isinstance(value, dict) else ()
    texts = {str(name).lower(): ", ".join(map(str, one)) if isinstance(one, list) else one for name, one in found}
    return {name: text for name, text in texts.items() if isinstance(text, str) and text}


def _take(cells: dict[str, str], column: str) -> str:
    """The text of a column, which is taken out, or of several that stay; empty if one is not there."""
    if "+" not in column:
        return cells.pop(column, "")
    texts = [cells.get(part, "") for part in column.split("+")]
    return "/".join(texts) if all(texts) else ""


def _cells_of_question(record: Mapping[str, Any]) -> dict[str, str]:
    """The cells of a question's object; its `uid` is its id."""
    cells = {str(name).lower(): text for name, value in record.items() if (text := cell_text(value))}
    return {"index": cells.pop("uid"), **cells} if "uid" in cells else cells


def keep_cells(names: tuple[str, ...], sample: Sample, row: Row) -> Sample:
    """The sample with these cells of its row, by name."""
    held = {name: row.cells[name] for name in names if name in row.cells}
    return structs.replace(sample, metadata={**sample.metadata, **held})


def _letters_of(cells: Mapping[str, str]) -> Iterator[str]:
    for letter in ascii_uppercase:
        if letter not in cells:
            return
        yield letter
