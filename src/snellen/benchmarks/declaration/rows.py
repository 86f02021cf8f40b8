"""Rows to samples, for data in the common column layout (VLMEvalKit's TSV and its relatives).

One example row: index 3, question "What color is the circle?", A "red", B "blue", answer "B",
category "colour", image <base64>. The kind is inferred row by row: option columns make a choice;
a gold of yes or no makes a yes/no question; the rest is open (see `golds`). Questions about the
same image can be paired.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from string import ascii_uppercase
from typing import NamedTuple, ParamSpec, TypeVar

from msgspec.structs import replace

from snellen.benchmarks.declaration.golds import (
    ColumnOfGolds,
    bare_letter,
    choice_golds,
    label_without_options,
    record_golds,
    yes_no_golds,
)
from snellen.core.benchmark import HasIds
from snellen.core.errors import DataError
from snellen.core.sample import ROTATION_STRIDE, Kind, MediaRef, Rotation, Row, Sample
from snellen.data.columns import (
    FIGURE_IDS,
    GOLD_TEXT,
    ID_COLUMNS,
    KIND_COLUMNS,
    REPLY_COLUMNS,
    gold_answers,
    gold_column,
    row_gold,
    row_id,
)
from snellen.data.tables.cells import INTEGER_ANSWER
from snellen.extract.yes_no_words import lone_yes_no

P = ParamSpec("P")
T = TypeVar("T")

_NOTHING: Mapping[str, str] = {}
_NO_IMAGES: Mapping[str, MediaRef] = {}
_LABEL_GOLDS = {letter: (letter,) for letter in ascii_uppercase}
GROUP_COLUMNS = ("split", "l2-category", "category")
_LETTERS = tuple(zip(ascii_uppercase, (*ascii_uppercase[1:], ""), strict=True))
"""Each letter with the next one."""
_STRIDE_DIGITS = len(str(ROTATION_STRIDE))
_SEVERAL_TYPES = frozenset({"multi", "multi_select", "multiple_answers"})
"""Values of the column `type` of questions with any number of right options."""
MULTI_LABEL_INSTRUCTION = "One or several options are right. Answer with the letters of all that are."
_LABEL_LIST = re.compile(r"[A-Z](?:\s*[,;/&+]?\s*(?:and\s+)?[A-Z])+")
_NAMED_COLUMNS = 20
"""Columns that a message names."""
_SEPARATORS = {
    "\t": "commas, not tabs (or call the file .tsv)",
    ";": "commas, not semicolons",
    ",": "tabs, not commas (or call the file .csv)",
}
"""Signs in a header that is a single cell, and what separates cells instead."""
PLACE_TYPE = "place of own data"
"""Cell of the column `type` of rows that ask for places (`own_places`)."""
_KINDS: dict[str, Kind] = {
    "mcq": "choice",
    "choice": "choice",
    "multi_choice": "choice",
    "multiple-choice": "choice",
    "yes_no": "yes_no",
    "y/n": "yes_no",
    "yorn": "yes_no",
    "open": "open",
    "free_form": "open",
    "vqa": "open",
    "fields": "fields",
    "json": "fields",
    "page": "page",
    "markdown": "page",
    PLACE_TYPE: "place",
}


AdjustSample = Callable[[Sample, Row], Sample]
"""Makes of a sample what its benchmark needs, with a look at the row it came from. Raises DataError
without the place of the row, which is added."""


def compose_adjustments(first: AdjustSample | None, second: AdjustSample | None) -> AdjustSample | None:
    """Both changes, one after the other."""
    if first is None or second is None:
        return first or second

    def both(sample: Sample, row: Row) -> Sample:
        return second(first(sample, row), row)

    return both


def rows_to_samples(
    rows: Iterable[Row],
    *,
    groups: tuple[str, ...] = GROUP_COLUMNS,
    path: str = "the data",
    kind: Kind | None = None,
    adjust: AdjustSample | None = None,
    question: str = "",
    keep: Callable[[Row], bool] | None = None,
    adjust_row: Callable[[Row], Row] | None = None,
) -> Iterator[Sample]:
    """Samples in the order of their rows; rotations stored as rows join their base question.

    `adjust_row` brings a row into the layout that is read here; its id stays. `kind` is the kind of
    all rows, whatever their gold answers look like; `question` is for rows without one; `keep`
    selects rows. All samples are held in memory only if some rows may be
    rotations of others. Raises DataError for a row without a question, a gold answer that is no
    option, or an id that occurs twice.
    """

    def kept_rows() -> Iterable[Row]:
        adjusted = rows if adjust_row is None else (at_row(path, row, adjust_row, row) for row in rows)
        return adjusted if keep is None else filter(keep, adjusted)

    def generate() -> Iterator[Sample]:
        """Yield a sample for each row. Raises DataError if two rows have the same id."""
        row_of_id: dict[str, int] = {}
        # Rows that can be read only once cannot decide together.
        column = None if isinstance(rows, Iterator) else ColumnOfGolds(kept_rows, options_of)
        for row in kept_rows():
            sample = sample_of(row, groups, path, kind, question, column)
            if adjust is not None:
                try:
                    sample = adjust(sample, row)
                except DataError as error:
                    raise _with_place(error, path, row) from error
            if sample.id in row_of_id:
                raise DataError(
                    f"{path}: rows {row_of_id[sample.id] + 1} and {row.index + 1} have the same id "
                    f"{sample.id!r}; ids must be unique"
                )
            row_of_id[sample.id] = row.index
            yield sample

    return join_rotations(generate()) if may_rotate(rows) else generate()


def build_sample(
    row: Row,
    *,
    kind: Kind = "open",
    question: str | None = None,
    gold: str | tuple[str, ...],
    options: Mapping[str, str] = _NOTHING,
    hint: str = "",
    groups: Mapping[str, str] = _NOTHING,
    unit: str = "",
) -> Sample:
    """The sample of a row in a layout of its own, with all media of the row. Its question is that of
    the row unless another is given; an empty gold answer is none, and an empty label no group."""
    return Sample(
        id=row_id(row),
        kind=kind,
        question=row.cells.get("question", "") if question is None else question,
        gold=gold if isinstance(gold, tuple) else (gold,) if gold else (),
        options=options,
        media=row.media,
        hint=hint,
        groups={name: label for name, label in groups.items() if label},
        unit=unit,
    )


def at_row(path: str, row: Row, adjust: Callable[P, T], *args: P.args, **options: P.kwargs) -> T:
    """What an adjustment returns; the place of the row is added to its errors."""
    try:
        return adjust(*args, **options)
    except DataError as error:
        raise _with_place(error, path, row) from error


def _with_place(error: DataError, path: str, row: Row) -> DataError:
    return DataError(f"{path}, row {row.index + 1}: {error}")


def may_rotate(rows: Iterable[Row]) -> bool:
    """Whether some row may be a rotation of another, judged by the ids alone."""
    if not isinstance(rows, HasIds):
        return True
    large = {base for name in rows.ids(_STRIDE_DIGITS) if (base := _base_of_id(name)) is not None}
    return bool(large) and not large.isdisjoint(rows.ids())


def join_rotations(all_samples: Iterable[Sample]) -> Iterator[Sample]:
    """The samples without those that are rotations of another, which get them as `rotations`."""
    samples_by_id = {sample.id: sample for sample in all_samples}
    rotations: dict[str, list[Sample]] = {}
    for sample in samples_by_id.values():
        base = samples_by_id.get(_base_id(sample) or "")
        if base is not None and _is_rotation(base, sample):
            rotations.setdefault(base.id, []).append(sample)
    rotation_ids = {turn.id for turns in rotations.values() for turn in turns}
    for sample in samples_by_id.values():
        if sample.id not in rotation_ids:
            yield _with_rotations(sample, rotations.get(sample.id, []))


def sample_of(
    row: Row,
    groups: tuple[str, ...],
    path: str,
    fixed_kind: Kind | None = None,
    default_question: str = "",
    column: ColumnOfGolds | None = None,
) -> Sample:
    """Make a sample of one row; `fixed_kind` is the kind of all rows, `default_question` for
    rows without one, `column` the gold answers of all rows. Raises DataError."""
    cells = row.cells
    roles = _roles_of(tuple(cells), groups)
    options = {label: cells[label] for label in roles.options}
    # A picture alone may hold its question.
    to_ask = roles.has_question or default_question or options or row.media
    if not to_ask and not _is_prediction_row(cells):
        raise _no_question(row, path)
    # Most golds are letters, whose tuples are shared.
    golds = _LABEL_GOLDS.get(cells[roles.gold]) or gold_answers(cells, roles.gold) if roles.gold else ()
    named = roles.names_kind or not options
    kind = fixed_kind or (infer_kind(cells, options, golds, column) if named else "choice")
    question = cells.get("question", default_question)
    # One letter is no list of labels.
    is_list = kind == "choice" and fixed_kind is None and len(golds) == 1 and len(golds[0]) > 1
    labels = _label_list(golds[0].strip(), options) if is_list else ""
    if labels or (named and options and fixed_kind is None and cells.get("type", "").strip().lower() in _SEVERAL_TYPES):
        golds = (labels,) if labels else golds
        kind, question = "open", list_options(question, options)
    if kind == "choice" and options and golds:
        # In most data a label that is part of no option's text: then there is nothing to decide.
        is_plain = roles.may_be_plain and len(golds) == 1 and golds[0] in options
        if not is_plain or golds[0] in "\0".join(options.values()):
            golds = at_row(path, row, choice_golds, row, options, column)
    elif kind == "choice":
        golds = tuple(map(label_without_options, golds))
    elif kind == "yes_no":
        golds = at_row(path, row, yes_no_golds, golds)
    elif kind == "fields":
        golds = at_row(path, row, record_golds, row)
    elif kind == "page":
        from snellen.benchmarks.declaration.page_golds import page_golds

        golds = at_row(path, row, page_golds, row)
    name = cells[roles.id] if roles.id else ""
    return Sample(
        name if name.isalnum() else row_id(row),
        kind,
        question,
        golds,
        options if kind == "choice" else _NOTHING,
        row.media,
        cells.get("hint", ""),
        _group_labels(roles.groups, tuple(map(cells.__getitem__, roles.groups))) if roles.groups else _NOTHING,
        option_images=_NO_IMAGES,
        metadata=_NOTHING,
    )


class _Roles(NamedTuple):
    """What is seen of a row in the names of its cells alone, so that it is found once for many rows."""

    id: str
    """The cell that is its id unless it is empty or needs to be normalised; "" if none is."""
    options: tuple[str, ...]
    gold: str | None
    may_be_plain: bool
    """Whether a gold answer that is a label may be nothing else."""
    groups: tuple[str, ...]
    has_question: bool
    names_kind: bool


@lru_cache(maxsize=256)
def _roles_of(columns: tuple[str, ...], groups: tuple[str, ...]) -> _Roles:
    first = next((name for name in ID_COLUMNS if name in columns), "")
    return _Roles(
        "" if first == FIGURE_IDS[-1] else first,
        tuple(_option_columns(columns)),
        gold_column(columns),
        INTEGER_ANSWER not in columns and GOLD_TEXT not in columns,
        tuple([column for column in groups if column in columns]),
        "question" in columns,
        not set(KIND_COLUMNS).isdisjoint(columns),
    )


@lru_cache(maxsize=1024)
def _group_labels(columns: tuple[str, ...], labels: tuple[str, ...]) -> Mapping[str, str]:
    """The groups of a sample, which those with the same labels share."""
    return dict(zip(columns, labels, strict=True))


def list_options(question: str, options: Mapping[str, str]) -> str:
    """A question of which several options may be right, with the options and how to answer."""
    listed = "".join(f"\n{label}. {text}" for label, text in options.items())
    return f"{question}{listed}\n{MULTI_LABEL_INSTRUCTION}"


def names_kind(text: str) -> bool:
    """Whether a cell of the column `type` is the name of a kind of question."""
    name = text.strip().lower()
    return name in _KINDS or name in _SEVERAL_TYPES


def asks_for_page(row: Row) -> bool:
    """Whether the column `type` of a row says so."""
    return any(_KINDS.get(row.cells.get(name, "").strip().lower()) == "page" for name in KIND_COLUMNS)


def _label_list(gold: str, options: Mapping[str, str]) -> str:
    """The gold answer "A,C" or "AC" as "A, C"; empty if it does not name several options."""
    if _LABEL_LIST.fullmatch(gold) is None or gold in map(str.strip, options.values()):
        return ""
    labels = sorted(re.findall("[A-Z]", gold))
    distinct = set(labels)
    return ", ".join(labels) if len(distinct) == len(labels) and distinct <= set(options) else ""


def check_unique_ids(samples: Iterable[Sample], path: str) -> Iterator[Sample]:
    """Pass the samples on. Raises DataError for an id that occurs twice."""
    seen: set[str] = set()
    for sample in samples:
        if sample.id in seen:
            raise DataError(f"{path}: the id {sample.id!r} stands there twice; ids must be unique")
        seen.add(sample.id)
        yield sample


def option_cells(cells: Mapping[str, str]) -> dict[str, str]:
    """The columns A, B, C, ... up to the first that is missing; a single gap is skipped."""
    return {letter: cells[letter] for letter in _option_columns(cells)}


def _option_columns(columns: Collection[str]) -> list[str]:
    letters: list[str] = []
    for letter, following in _LETTERS:
        if letter in columns:
            letters.append(letter)
        elif not letters or following not in columns:
            break
    return letters


def options_of(row: Row) -> dict[str, str]:
    """The options of a row in its columns A, B, C, ..."""
    return option_cells(row.cells)


def kind_of_rows(rows: Iterable[Row]) -> Callable[[Row], Kind]:
    """The kind of each row, as it is inferred with all of them."""
    column = ColumnOfGolds(lambda: rows, options_of)
    return lambda row: infer_kind(row.cells, options_of(row), row_gold(row), column)


def infer_kind(
    cells: Mapping[str, str], options: Mapping[str, str], golds: tuple[str, ...], column: ColumnOfGolds | None = None
) -> Kind:
    """The kind by a column `type` or `question_type`, else inferred from options and gold answer;
    words for yes and no of other languages than English count if all rows have such."""
    for name in ("type", "question_type"):
        if name not in cells:
            continue
        kind = _KINDS.get(cells[name].strip().lower())
        if kind is not None and (kind != "choice" or options or not cells.get("question")):
            return kind
    if options:
        return "choice"
    if golds and {gold.strip(" .!").lower() for gold in golds} <= {"yes", "no"}:
        return "yes_no"
    if column is not None and golds and all(map(lone_yes_no, golds)) and column.is_yes_no:
        return "yes_no"
    bare = bool(golds) and None not in map(bare_letter, golds)
    return "choice" if bare else "open"


def _no_question(row: Row, path: str) -> DataError:
    expected = expected_separator(row.cells) or "a column `question` (name it with --columns question=...)"
    names = ", ".join([*row.cells][:_NAMED_COLUMNS]) or "none"
    more = len(row.cells) - _NAMED_COLUMNS
    return DataError(
        f"{path}, row {row.index + 1}: no question; got the columns {names}"
        f"{f' and {more:,} more' if more > 0 else ''}; expected {expected}"
    )


def expected_separator(columns: Collection[str]) -> str:
    """Which separator a file should have whose header is a single cell; empty for another file."""
    header = next(iter(columns)) if len(columns) == 1 else ""
    for sign, expected in _SEPARATORS.items():
        if sign in header:
            return f"cells separated by {expected}"
    return ""


def _is_prediction_row(cells: Mapping[str, str]) -> bool:
    """Recorded predictions may be scored without their questions."""
    return any(column in cells for column in REPLY_COLUMNS)


def _base_id(sample: Sample) -> str | None:
    return _base_of_id(sample.id) if sample.kind == "choice" else None


def _base_of_id(name: str) -> str | None:
    """The id of the base question, if a row of this id would be a rotation."""
    if len(name) < _STRIDE_DIGITS or not name.isdecimal():
        return None
    index = int(name)
    return str(index % ROTATION_STRIDE) if index >= ROTATION_STRIDE else None


def _is_rotation(base: Sample, rotation: Sample) -> bool:
    """Whether a row rotates the options of `base`: a large id alone is not enough."""
    return base.question == rotation.question and sorted(base.options.values()) == sorted(rotation.options.values())


def _with_rotations(sample: Sample, rotations: list[Sample]) -> Sample:
    if not rotations:
        return sample
    rows = tuple(
        Rotation(turn.id, turn.options, turn.gold[0] if turn.gold else None)
        for turn in sorted(rotations, key=lambda turn: int(turn.id))
    )
    return replace(sample, rotations=rows)


CellValues = list[str | None]


def pair_names(rows: Sequence[Row], groups: Sequence[str]) -> list[str]:
    """A name for each row, shared by the two questions about one image within a group.

    The first of these that all rows have identifies the image: the column `image_path`; a
    `question_id` that two questions of a group share (the layout of Hugging Face copies of MME);
    the name in the column `image`; the image's digest. If none does, every two consecutive rows of
    a group are a pair, as in MME's result files. An image with more questions makes several pairs,
    in order.
    """
    for names in (
        _cells(rows, "image_path"),
        _if_shared(_cells(rows, "question_id"), groups),
        _cells(rows, "image"),
        [row.media[0].digest if row.media else None for row in rows],
    ):
        if names and all(name is not None for name in names):
            return _number_pairs([f"{group}/{name}" for group, name in zip(groups, names, strict=True)])
    return _number_pairs(list(groups))


def add_yes_no_pair(sample: Sample, row: Row) -> Sample:
    """Yes/no questions about the same images in one category become a unit."""
    if sample.kind != "yes_no" or not sample.media:
        return sample
    images = ",".join(ref.digest for ref in sample.media)
    return replace(sample, unit=f"{sample.groups.get('category', '')}/{images}")


def _cells(rows: Sequence[Row], column: str) -> CellValues:
    return [row.cells.get(column) for row in rows]


def _if_shared(names: CellValues, groups: Sequence[str]) -> CellValues:
    counts = Counter(zip(groups, names, strict=True))
    return names if any(count > 1 for count in counts.values()) else []


def _number_pairs(names: Sequence[str]) -> list[str]:
    seen: Counter[str] = Counter()
    units = []
    for name in names:
        number = seen[name] // 2
        seen[name] += 1
        units.append(f"{name}#{number + 1}" if number else name)
    return units
