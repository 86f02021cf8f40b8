"""The gold answer of a row, read once, with the options of the row in hand.

A gold answer of a choice names its option (by label, "B", "(b)", "B. red", or by an integer, the
index from 0) or has its text ("red"); where options are letters or numbers it may mean one option
by name and another by text: "b" of e, c, b. Then all gold answers of the data decide: if some can
only be names and none only a text, it is a name, and the other way round. Columns called
`gold_label`, `gold_text` and `gold_index` say themselves what they hold.

Golds of yes/no questions are read by the reader of replies.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from typing import Literal, NamedTuple

from snellen.benchmarks.declaration.inline_options import label_of, strip_label
from snellen.core.errors import DataError
from snellen.core.literals import parse_finite
from snellen.core.output import ParsedAnswer
from snellen.core.sample import Row
from snellen.data.columns import GOLD_INDEX, GOLD_LABEL, GOLD_TEXT, gold_column, row_gold
from snellen.data.tables.cells import INDEXED_ANSWER, INTEGER_ANSWER
from snellen.extract.yes_no import parse_yes_no
from snellen.extract.yes_no_words import is_yes_no_column

_LABEL = re.compile(r"\(([A-Z])\)\s|([A-Z])[.:]\s")
"""Before the text of an option, in a gold without options beside it."""


class Gold(NamedTuple):
    """What a gold answer of a choice may mean."""

    text: str
    name: str | None
    """The label of the option that it names."""
    same: tuple[str, ...]
    """The labels of the options whose text it is."""
    by: Literal["label", "place"] = "label"
    """How it names an option; an integer counts as a label, which other integers became."""
    is_certain: bool = False
    """Whether it names an option as labels are written, or is an integer: then it is refused where
    it may also be a text and nothing decides. Else it is the text."""

    @property
    def is_ambiguous(self) -> bool:
        return self.name is not None and self.same not in ((), (self.name,))


class ColumnOfGolds:
    """What the gold answers of all rows say of one that is ambiguous; rows are read only then."""

    def __init__(self, rows: Callable[[], Iterable[Row]], options: Callable[[Row], Mapping[str, str]]) -> None:
        self._rows, self._options = rows, options

    @cached_property
    def evidence(self) -> frozenset[str]:
        """What some gold answer can only be: a `label`, a `place`, a `text`."""
        found: set[str] = set()
        for row in self._rows():
            options = self._options(row)
            for gold in read_golds(row, options) if options else ():
                if gold.name is None or not gold.same:
                    found.add(gold.by if gold.name else "text" if gold.same else "")
        return frozenset(found)

    @cached_property
    def is_yes_no(self) -> bool:
        """Whether all gold answers of rows without options are one language's yes and no."""
        plain = (row_gold(row) for row in self._rows() if not self._options(row))
        return is_yes_no_column(gold for golds in plain for gold in golds)


def choice_golds(row: Row, options: Mapping[str, str], column: ColumnOfGolds | None = None) -> tuple[str, ...]:
    """The labels of the gold answers of a row. Raises DataError, without the place of the row, for
    one that is none of the options, and for one that may be two."""
    return tuple([_label(gold, options, column) for gold in read_golds(row, options)])


def read_golds(row: Row, options: Mapping[str, str]) -> Iterable[Gold]:
    """The gold answers of a row that has options."""
    cells = row.cells
    column = gold_column(cells)
    place = cells.get(INTEGER_ANSWER) or cells.get(INDEXED_ANSWER)
    for text in row_gold(row):
        if column == GOLD_INDEX and text.isdecimal() and int(text) < len(options):
            place = list(options)[int(text)]
        gold = read_gold(text, options, place)
        if INTEGER_ANSWER in cells:
            gold = gold._replace(by="label", is_certain=True)
        if column in (GOLD_LABEL, GOLD_INDEX):
            gold = gold._replace(same=())
        yield gold._replace(name=None) if column == GOLD_TEXT else gold


def read_gold(gold: str, options: Mapping[str, str], place: str | None = None) -> Gold:
    """A gold answer with the options that it may mean; `place` is the label of the option whose
    index it would be."""
    text = gold.strip()
    same = tuple([label for label, option in options.items() if _has_text(option, label, text)])
    if text in options:
        return Gold(text, text, same, is_certain=True)
    letter = bare_letter(text)
    if letter is not None and letter in options:
        return Gold(text, letter, same, is_certain=letter in text)
    name = label_of(text)
    if name is not None and name in options:
        # "(B) red", unless the whole is the text of another option.
        return Gold(text, None if same and name not in same else name, same)
    return Gold(text, place, same or _similar(text, options), by="place")


def label_of_gold(text: str, options: Mapping[str, str]) -> str:
    """The label of a gold answer in a format that has labels, bare or before their texts; for
    another, of the option with this text; the gold itself if it is none of the options."""
    if not options:
        return label_of(text) or text
    gold = read_gold(text, options)
    if gold.name is not None and (gold.is_certain or not gold.same):
        return gold.name
    return gold.same[0] if gold.same else text


def yes_no_golds(golds: Iterable[str]) -> tuple[str, ...]:
    """Gold answers as "Yes" or "No", as a reply of the same words is read. Raises DataError,
    without the place of the row, for another."""
    return tuple(map(_yes_no_gold, golds))


def _yes_no_gold(gold: str) -> str:
    answer = parse_yes_no(gold)
    if not isinstance(answer, ParsedAnswer):
        raise DataError(
            f"the answer {gold!r} is neither yes nor no; correct it, leave it empty to count the "
            "row as one without gold, or give the question another `type`"
        )
    return answer.value


def label_without_options(gold: str) -> str:
    """The label in a gold answer where the options are not known; else the gold itself."""
    text = gold.strip()
    label = _LABEL.match(text)
    return label[1] or label[2] if label else bare_letter(text) or text


def bare_letter(text: str) -> str | None:
    """The capital of a single letter, alone or in parentheses."""
    text = text.strip().strip("().").strip()
    return text.upper() if len(text) == 1 and text.isascii() and text.isalpha() else None


def _label(gold: Gold, options: Mapping[str, str], column: ColumnOfGolds | None) -> str:
    """The label that a gold answer means. Raises DataError."""
    if gold.name is not None and not (gold.is_ambiguous and _is_text(gold, column)):
        return gold.name
    if len(gold.same) == 1:
        return gold.same[0]
    if gold.same:
        raise DataError(
            f"the answer {gold.text!r} is the text of the options {' and '.join(gold.same)}; name "
            "the right one by its letter, or make the options differ"
        )
    gap = f" (the column {chr(ord(max(options)) + 1)} is empty there)" if bare_letter(gold.text) else ""
    raise DataError(
        f"the answer {gold.text!r} is none of the options {', '.join(options)}{gap}; correct it, "
        "or leave it empty to count the row as one without gold"
    )


def _is_text(gold: Gold, column: ColumnOfGolds | None) -> bool:
    """Whether an ambiguous gold answer is the text of an option. Raises DataError if nothing
    decides."""
    evidence = column.evidence if column is not None else frozenset[str]()
    if (gold.by in evidence) != ("text" in evidence):
        return "text" in evidence
    if gold.is_certain:
        raise DataError(
            f"the answer {gold.text!r} is the text of option {' and '.join(gold.same)} and may "
            f"name option {gold.name}, and the other rows do not decide; say what answers are with "
            "--columns gold_text=NAME, gold_label=NAME or gold_index=NAME, where NAME is the column"
        )
    return True


def _has_text(option: str, label: str, text: str) -> bool:
    option = option.strip()
    return option == text or (option.endswith(text) and strip_label(option, label) == text)


def _similar(text: str, options: Mapping[str, str]) -> tuple[str, ...]:
    """The only option that is the same number, or the same word in another case."""
    number = parse_finite(text)
    alike = tuple(
        label
        for label, option in options.items()
        if option.strip().casefold() == text.casefold()
        or (number is not None and parse_finite(option.strip()) == number)
    )
    return alike if len(alike) == 1 else ()


def record_golds(row: Row) -> tuple[str, ...]:
    """The gold record of a row, as it stands; none without a gold answer. Raises DataError for what
    is no object or list in JSON."""
    gold = row.cells.get(gold_column(row.cells) or "", "").strip()
    if not gold:
        return ()
    try:
        value = json.loads(gold)
    except ValueError as error:
        raise DataError(f"the gold answer {gold[:60]!r} is no JSON ({error}); expected a record") from error
    if not isinstance(value, dict | list):
        raise DataError(f"the gold answer {gold[:60]!r} is no record; expected a JSON object or list")
    return (gold,)
