"""Columns of the user's own data that are neither asked nor scored: kept with each sample."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from functools import partial
from string import ascii_uppercase

from msgspec import structs

from snellen.benchmarks.declaration.rows import AdjustSample
from snellen.core.errors import DataError
from snellen.core.record import Record
from snellen.core.sample import Row, Sample
from snellen.data.columns import (
    GOLD_COLUMNS,
    ID_COLUMNS,
    IGNORED_MARK,
    OPTION_LISTS,
    VIDEO_COLUMNS,
    gold_column,
    is_image_column,
    is_video_column,
)
from snellen.data.tables.cells import INDEXED_ANSWER, INTEGER_ANSWER

_ASKED = frozenset({"question", "hint", "type", "question_type", INDEXED_ANSWER, INTEGER_ANSWER, *ascii_uppercase})
_ALL_GOLDS = frozenset(GOLD_COLUMNS)
_VIDEO_FACTS = frozenset({"prefix", "start", "end", "subtitle_path"})
"""Columns that say which part of a video is shown, and with which subtitles."""
_MAX_CELL = 10_000
"""Characters of a cell that are kept; a cut cell ends with an ellipsis."""
_PICTURES = (".jpg", ".jpeg", ".png", ".webp", ".gif", ".bmp")
_NAMED = 12
"""Columns that the notice names."""


def keep_other_columns(columns: Sequence[str], used: Collection[str]) -> AdjustSample:
    """Gives each sample the cells that nothing else uses, in the order of the columns. `used` are
    groups and units.

    Raises DataError for options of a row that cannot be read: it would be asked without them.
    """
    known = {*_ASKED, *used, *filter(is_image_column, columns)}
    known |= {next((name for name in names if name in columns), "") for names in (ID_COLUMNS, GOLD_COLUMNS)}
    if any(map(is_video_column, columns)):
        known |= _VIDEO_FACTS
    if "video" not in columns or not any(map(is_image_column, columns)):
        known |= set(VIDEO_COLUMNS)
    names = [name for name in columns if name not in known and not name.endswith(IGNORED_MARK)]
    return partial(_keep_cells, names, sum(name in ascii_uppercase for name in columns))


def _keep_cells(names: Sequence[str], letters: int, sample: Sample, row: Row) -> Sample:
    cells, options = row.cells, sample.options
    if not options or len(options) != letters:
        searched = filter(ascii_uppercase.__contains__, cells) if options else OPTION_LISTS
        unread = [name for name in searched if name in cells and name not in options]
        if unread:
            raise _unread_options(unread[0], cells[unread[0]], bool(options))
    if not names:
        return sample
    # In a row whose first gold column is empty another one may be the gold.
    gold = None if _ALL_GOLDS.isdisjoint(names) else gold_column(cells)
    kept = {}
    for name in names:
        if name in cells and name != gold:
            cell = cells[name]
            kept[name] = cell if len(cell) <= _MAX_CELL else cell[:_MAX_CELL] + "…"
    return structs.replace(sample, metadata=kept) if kept else sample


def _unread_options(column: str, cell: str, behind_a_gap: bool) -> DataError:
    if behind_a_gap:
        return DataError(f"the option {column} stands behind a gap in the letters")
    return DataError(
        f"the options in the column {column!r} cannot be read ({cell[:60]!r}); expected at most "
        'twenty-six in a list of texts, a list of objects such as {"label": "A", "text": "red"} '
        "without images, an object label -> text, or the columns A, B, C, ...; or leave the column "
        f"out with --columns ignore={column}"
    )


def metadata_notice(records: Iterable[Record]) -> tuple[str, ...]:
    """A sentence that names the columns that are kept and not shown; none if there are none."""
    examples: dict[str, str] = {}
    for record in records:
        if record.metadata:
            examples.update(record.metadata)
    if not examples:
        return ()
    more = f" and {len(examples) - _NAMED} more" if len(examples) > _NAMED else ""
    pictures = [name for name, cell in examples.items() if cell.lower().endswith(_PICTURES)]
    hint = f" ({pictures[0]} names pictures: --columns image={pictures[0]})" if pictures else ""
    return (f"kept as metadata, not shown to the model: {', '.join(list(examples)[:_NAMED])}{more}{hint}",)
