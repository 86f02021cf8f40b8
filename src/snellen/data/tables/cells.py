"""Text cells of typed formats (JSON, Parquet, ...)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from snellen.data.columns import (
    GOLD_COLUMNS,
    OPTION_LISTS,
    REPLY_COLUMNS,
    VIDEO_COLUMNS,
    column_name,
    is_video_column,
    option_letters,
)
from snellen.data.documents import cell_text
from snellen.data.media.image_cells import StoredMedium
from snellen.data.media.video_cells import parse_video
from snellen.data.tables.index import IndexedRow
from snellen.data.tables.options import labels_of, parse_options, spread_options

INDEXED_ANSWER = "answer place"
"""Column: if the options are a list and the gold is a text such as "1", the letter of the option
at that index, counted from 0; the gold may mean it."""
INTEGER_ANSWER = "integer answer place"
"""Column: the same, if the gold is an integer that is also the text of another option."""

_LISTS = frozenset(OPTION_LISTS)
_VIDEOS = frozenset(VIDEO_COLUMNS)
_REPLIES = frozenset(REPLY_COLUMNS)


def flat_cells(record: Mapping[str, Any], gold: str | None = None, reply: str | None = None) -> dict[str, str]:
    """The text cells of a record; nested objects become cells called `outer.inner`.

    An integer gold with a list of options is an option's index, counted from 0 (the convention of
    Hugging Face data sets), and becomes its letter, unless it is the text of another option. `gold`
    names another column of gold answers, `reply` one of replies: an empty reply keeps its cell, a
    missing one has none.
    """
    replies = _REPLIES if reply is None else _REPLIES | {column_name(reply, 0)}
    cells: dict[str, str] = {}
    for position, (name, value) in enumerate(record.items()):
        column = column_name(str(name), position)
        if isinstance(value, dict) and column not in OPTION_LISTS:
            inner = flat_cells(value)
            cells.update({f"{column}.{key}": text for key, text in inner.items()})
            cells.update(dict.fromkeys(replies & _empty_reply_cells(column, value), ""))
        elif text := cell_text(value):
            cells[column] = text
        elif value == "" and column in replies:
            cells[column] = ""
    _set_letter_gold(record, cells, (*GOLD_COLUMNS, gold) if gold else GOLD_COLUMNS)
    return cells


def _empty_reply_cells(column: str, record: Mapping[str, Any]) -> frozenset[str]:
    """The names of a nested record's cells that hold an empty text."""
    return frozenset([f"{column}.{column_name(str(key), 0)}" for key, value in record.items() if value == ""])


def _set_letter_gold(record: Mapping[str, Any], cells: dict[str, str], golds: Iterable[str]) -> None:
    """Replace option indices in the gold columns by letters, if the record lists its options."""
    listed = next((record[name] for name in OPTION_LISTS if name in record), None)
    options = parse_options(listed) if isinstance(listed, list | str) else None
    letters = labels_of(options) if options else None
    labels = {label for label, _ in options or ()}
    texts = [text for _, text in options or ()]
    for name in golds:
        value = record.get(name)
        if not letters or isinstance(value, bool) or str(value) in labels:
            continue
        if isinstance(value, float) and value.is_integer():
            value = int(value)  # a column of integers with gaps
        if isinstance(value, int) and 0 <= value < len(letters):
            set_integer_gold(cells, column_name(name, 0), value, texts, letters)
        elif isinstance(value, str) and value.isdecimal() and int(value) < len(letters):
            cells[INDEXED_ANSWER] = letters[int(value)]


def set_integer_gold(
    cells: dict[str, str], column: str, index: int, options: Sequence[str], letters: Sequence[str] | None = None
) -> None:
    """Make the index of an option its letter; if it is also the text of another option, all rows
    will decide. `letters` are those of the options if not A, B, C, ..."""
    letter, text = (letters or option_letters(len(options)) or "")[index], str(index)
    texts = [option.strip() for option in options]
    is_text = text in texts and texts[index] != text
    cells[column] = text if is_text else letter
    if is_text:
        cells[INTEGER_ANSWER] = letter


def needs_finishing(columns: Iterable[str]) -> bool:
    """Whether `finish_row` may change a row without media that has these columns."""
    return not (_LISTS | _VIDEOS).isdisjoint(columns)


def finish_row(cells: dict[str, str], media: Mapping[str, Sequence[StoredMedium]]) -> IndexedRow:
    """A row with its options spread and its images in order.

    A video named by cells comes last; with images, only one in `video_path` counts, because `video`
    may name where the images were taken from. Image paths (`image_path`) count only if no other
    column has an image, and `decoded_image` (MathVista) is the image that another column names.
    """
    if not _LISTS.isdisjoint(cells):
        spread_options(cells)
    if not media and _VIDEOS.isdisjoint(cells):
        return IndexedRow(cells, ())
    if "decoded_image" in media:
        return IndexedRow(cells, media["decoded_image"])
    embedded = [item for column, items in media.items() if _holds_images(column) for item in items]
    paths = [item for column, items in media.items() if not _holds_images(column) for item in items]
    images = embedded or paths
    has_video = any(map(is_video_column, media)) or (images and "video_path" not in cells)
    video = None if has_video else parse_video(cells)
    return IndexedRow(cells, [*images, video] if video else images)


def _holds_images(column: str) -> bool:
    return not column.startswith("image_path")
