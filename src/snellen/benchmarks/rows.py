"""Rows to samples, for data in the common column layout (VLMEvalKit's TSV and its relatives).

One example row: index 3, question "What color is the circle?", A "red", B "blue", answer "B",
category "colour", image <base64>. The kind is inferred row by row: option columns make a choice;
a gold of yes or no makes a yes/no question; the rest is open.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from snellen.core.errors import DataError
from snellen.core.sample import Kind, Rotation, Row, Sample
from snellen.data.columns import REPLY_COLUMNS, row_gold, row_id

GROUP_COLUMNS = ("split", "l2-category", "category")
_ROTATION_STRIDE = 1_000_000
"""MMBench files hold rotation r of question i as the row with index i + r * 1,000,000."""
_KINDS: dict[str, Kind] = {
    "mcq": "choice",
    "choice": "choice",
    "multi_choice": "choice",
    "multiple-choice": "choice",
    "yes_no": "yes_no",
    "y/n": "yes_no",
    "open": "open",
    "free_form": "open",
    "vqa": "open",
}


def samples(
    rows: Iterable[Row], *, groups: tuple[str, ...] = GROUP_COLUMNS, path: str = "the data"
) -> Iterator[Sample]:
    """Samples in the order of their rows; rotations stored as rows join their base question.

    Raises DataError for a row without a question, a gold that is no option, or an id held twice.
    """
    found: dict[str, Sample] = {}
    numbers: dict[str, int] = {}
    for row in rows:
        sample = sample_of(row, groups=groups, path=path)
        if sample.id in found:
            raise DataError(
                f"{path}: rows {numbers[sample.id] + 1} and {row.number + 1} have the same id "
                f"{sample.id!r}; ids must be unique"
            )
        found[sample.id] = sample
        numbers[sample.id] = row.number
    rotations: dict[str, list[Sample]] = {}
    for sample in found.values():
        base = found.get(_base_id(sample) or "")
        if base is not None and _same_question(base, sample):
            rotations.setdefault(base.id, []).append(sample)
    turned = {turn.id for turns in rotations.values() for turn in turns}
    for sample in found.values():
        if sample.id not in turned:
            yield _with_rotations(sample, rotations.get(sample.id, []))


def sample_of(row: Row, *, groups: tuple[str, ...], path: str) -> Sample:
    cells = row.cells
    options = option_cells(cells)
    where = f"{path}, row {row.number + 1}"
    if "question" not in cells and not options and not _is_prediction_row(cells):
        raise DataError(
            f"{where}: no question; got the columns {', '.join(cells) or 'none'}; expected "
            + (
                "cells separated by commas, not semicolons"
                if _one_joined(cells)
                else "a column `question` (name it with --columns question=...)"
            )
        )
    golds = row_gold(row)
    kind = kind_of(cells, options, golds)
    if kind == "choice":
        golds = tuple(_label(gold, options, where) for gold in golds)
    if kind == "yes_no":
        golds = tuple(gold.strip().capitalize() for gold in golds)
    return Sample(
        id=row_id(row),
        kind=kind,
        question=cells.get("question", ""),
        gold=golds,
        options=options if kind == "choice" else {},
        media=row.media,
        hint=cells.get("hint", ""),
        groups={column: cells[column] for column in groups if column in cells},
    )


def option_cells(cells: Mapping[str, str]) -> dict[str, str]:
    """Columns A, B, C, ... as far as they go without a gap."""
    options: dict[str, str] = {}
    for code in range(ord("A"), ord("Z") + 1):
        text = cells.get(chr(code))
        if text is None:
            break
        options[chr(code)] = text
    return options


def kind_of(cells: Mapping[str, str], options: Mapping[str, str], golds: tuple[str, ...]) -> Kind:
    """Told by a `type` or `question_type` column, else inferred from options and gold."""
    for column in ("type", "question_type"):
        told = _KINDS.get(cells.get(column, "").strip().lower())
        if told is not None and (told != "choice" or options or not cells.get("question")):
            return told
    if options:
        return "choice"
    if golds and all(gold.strip().lower().rstrip(".") in ("yes", "no") for gold in golds):
        return "yes_no"
    bare = bool(golds) and all(_bare_letter(gold) is not None for gold in golds)
    return "choice" if bare else "open"


def _label(gold: str, options: Mapping[str, str], where: str) -> str:
    text = gold.strip()
    if not options or text in options:
        return _bare_letter(text) or text
    letter = _bare_letter(text)
    if letter is not None and letter in options:
        return letter
    matching = [label for label, option in options.items() if option.strip() == text]
    if len(matching) == 1:
        return matching[0]
    gap = f" (the column {_next_label(options)} is empty there)" if letter else ""
    raise DataError(
        f"{where}: the answer {gold!r} is none of the options {', '.join(options)}{gap}; "
        "correct it, or leave it empty to count the row as one without gold"
    )


def _next_label(options: Mapping[str, str]) -> str:
    return chr(ord(max(options)) + 1)


def _bare_letter(text: str) -> str | None:
    text = text.strip().strip("().").strip()
    return text.upper() if len(text) == 1 and text.isascii() and text.isalpha() else None


def _one_joined(cells: Mapping[str, str]) -> bool:
    return len(cells) == 1 and ";" in next(iter(cells))


def _is_prediction_row(cells: Mapping[str, str]) -> bool:
    """Recorded predictions may be scored without their questions."""
    return any(column in cells for column in REPLY_COLUMNS)


def _base_id(sample: Sample) -> str | None:
    if sample.kind != "choice" or not sample.id.isdecimal():
        return None
    index = int(sample.id)
    return str(index % _ROTATION_STRIDE) if index >= _ROTATION_STRIDE else None


def _same_question(base: Sample, turn: Sample) -> bool:
    """Whether a row is a rotation: a large id alone does not make one."""
    return base.question == turn.question and sorted(base.options.values()) == sorted(
        turn.options.values()
    )


def _with_rotations(sample: Sample, turns: list[Sample]) -> Sample:
    if not turns:
        return sample
    rotations = tuple(
        Rotation(turn.id, turn.options, turn.gold[0] if turn.gold else None)
        for turn in sorted(turns, key=lambda turn: int(turn.id))
    )
    return replace(sample, rotations=rotations)
