"""Column names: which columns are ids, gold answers, replies and options, across the names that
tools use."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence

from snellen.core.benchmark import IGNORED
from snellen.core.errors import DataError, UnknownName, UsageError
from snellen.core.literals import parse_json_or_literal
from snellen.core.place import BoxForm, PlaceShape
from snellen.core.sample import Row
from snellen.data.documents import replace_surrogates

ID_COLUMNS = ("index", "id", "idx", "question_id", "pid")
GOLD_LABEL, GOLD_TEXT, GOLD_INDEX = "gold_label", "gold_text", "gold_index"
"""Gold answers that are labels of options, their texts, or their places from 0."""
GOLD_COLUMNS = (
    "answer",
    GOLD_LABEL,
    GOLD_TEXT,
    GOLD_INDEX,
    "gold",
    "label",
    "gt",
    "gt-answer",
    "answers",
    "refs",
    "answer_if_known",
    "gt_answer",
    "ground_truth",
    "annotation",
)
REPLY_COLUMNS = (
    "prediction",
    "response",
    "full_prediction",
    "video-llm-prediction",
    "raw",
    "text",
    "output",
    "model_prediction",
    "pred",
    "predict",
)
SUBMISSION_COLUMNS = ("caption", "answer")
"""Columns that hold the reply in files for an evaluation server, `[{"image_id", "caption"}]` and
`[{"question_id", "answer"}]`, if none of `REPLY_COLUMNS` exists."""
COMPOSITE_IDS = (("image",), ("image_id",), ("questionid",), ("video", "dim", "i"))
"""Columns that form the id if none of `ID_COLUMNS` exists; the last tuple is tried first."""
FIGURE_IDS = ("category", "subcategory", "set_id", "figure_id", "question_id")
"""Columns that form HallusionBench's id: its `question_id` counts within a figure."""
DATA_ROW = "row of the data"
"""Column of lmms-eval's logs: index of the data row that the model was asked, from 0."""
FOREIGN_COLUMNS = {"lmms_eval": "lmms-eval", "inspect": "Inspect"}
"""The tools that logs are of, by the prefix of the columns that hold their verdicts."""
VIDEO_COLUMNS = ("video_path", "video")
"""Columns that name a video; the first that leads to a file counts."""
OPTION_LISTS = ("choices", "options", "index2ans", "candidates")
"""Columns whose list (or letter -> text object) is spread over the cells A, B, C, ...
`candidates` is MVBench's and MLVU's."""

EMBEDDED_SOUND = "(embedded sound)"
"""The cell of a sound whose bytes are in the file."""
IGNORED_MARK = " (ignored)"
"""Behind the name of a column that the user ignores."""

_LIST_GOLDS = frozenset({"answers", "refs"})
_INTEGRAL_FLOAT = re.compile(r"-?\d+\.0+")
_GOLD_LIKE = re.compile(
    r"(?:the[_ ])?(?:correct|right|true|gold|target|ground[_ ]?truth|gt|reference|expected)"
    r"(?:[_ ]?(?:option|answer|choice|label|letter|text|index))?|label|solution|answer[_ ]?key",
    re.IGNORECASE,
)
_OPTION_COLUMN = re.compile(r"(?:choice|option)[_ ]([a-z])")
_IMAGE_COLUMN = re.compile(
    r"images?(?:[_ ]?\d+)?|image_path|image_paths|outside_knowledge_images"
    r"|(?:global|example|query)_media"
)
"""`outside_knowledge_images` are those that MOAT's hints speak of; MEGA-Bench has pictures and
videos of a task, of its example and of the question."""
_SOUND_COLUMN = re.compile(
    r"(?:audio|sound|speech|voice|music|recording|wave?|mp3|flac)s?(?:form)?"
    r"(?:[ _-]?(?:paths?|files?|filename|name|url|uri|bytes|data|array|content|b64|base64|\d+))*"
)
_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


COLUMN_KEYS = (
    "id",
    "question",
    "gold",
    GOLD_LABEL,
    GOLD_TEXT,
    GOLD_INDEX,
    "prediction",
    "hint",
    "image",
    "image_path",
    "video",
    "video_path",
    "type",
    "split",
    "category",
    "l2-category",
    "unit",
    "bbox",
    "point",
    "polygon",
    "mask",
    "span",
    "labels",
    "width",
    "height",
    "duration",
    IGNORED,
)
"""What `--columns` may map a column to, besides the option letters and `image_1`, `image_2`, ..."""
_KEY_SYNONYMS = {"answer": "gold"}


def canonical_keys(columns: Mapping[str, str]) -> dict[str, str]:
    """The map with our name of each key; the gold answer may also be called `answer`, like its
    column."""
    return {_KEY_SYNONYMS.get(key, key): name for key, name in columns.items()}


def check_column_keys(columns: Mapping[str, str]) -> None:
    """Raises UnknownName for a key that is no column key, and UsageError for several columns that
    are to be one of images."""
    for role, name in canonical_keys(columns).items():
        if role not in COLUMN_KEYS and role not in _LETTERS and not is_image_column(role):
            letters = f"and the option letters {_LETTERS[0]} to {_LETTERS[-1]}"
            raise UnknownName("column role", role, COLUMN_KEYS, f"known: {', '.join(COLUMN_KEYS)}, {letters}")
        if is_image_column(role) and "+" in name:
            raise UsageError(
                f"{role}={name}: images are in one column; name several as "
                f"{','.join(f'image_{n}={part}' for n, part in enumerate(name.split('+'), 1))}"
            )


def column_name(name: str, position: int) -> str:
    """Normalise a column name by VLMEvalKit's convention: lower case, except single capital
    letters.

    `choice_a` and `option a` become A. A nameless column is called by its position.
    """
    name = name.strip()
    if not name:
        return f"column {position + 1}"
    if len(name) == 1 and name in _LETTERS:
        return name
    name = name.lower()
    option = _OPTION_COLUMN.fullmatch(name)
    return option[1].upper() if option else name


def check_distinct(names: Iterable[str], path: str) -> None:
    """Raises DataError if two of the columns have one name, which only letter case may tell
    apart."""
    counts = Counter(column_name(str(name), position) for position, name in enumerate(names))
    for name, count in counts.items():
        if count > 1:
            raise DataError(f"{path}: two columns are called {name!r}; rename one of them")


def is_image_column(name: str) -> bool:
    """Whether a column of a text format holds images: `image`, `image_1`, `image_path`, ..."""
    return _IMAGE_COLUMN.fullmatch(name) is not None


def is_video_column(name: str) -> bool:
    """Whether a column names or holds a video: `video_path` or `video`."""
    return name in VIDEO_COLUMNS


def is_sound_column(name: str) -> bool:
    """Whether a column is named as one of sounds; nested ones, `audio.path`, by their outer
    name."""
    return _SOUND_COLUMN.fullmatch(name.partition(".")[0]) is not None


def option_letters(count: int) -> str | None:
    """The first `count` letters of the alphabet, or None if `count` is more than 26."""
    return _LETTERS[:count] if count <= len(_LETTERS) else None


def id_text(cell: str) -> str:
    """The form in which ids are compared: spreadsheets write 241 as 241.0."""
    if cell.isalnum():
        return cell
    return cell.split(".")[0] if _INTEGRAL_FLOAT.fullmatch(cell) else cell.strip()


def id_of(cells: Mapping[str, str]) -> str | None:
    """The id in a row's cells, or None if no id column has a value."""
    for name in ID_COLUMNS:
        if cell := cells.get(name):
            if name == FIGURE_IDS[-1] and "figure_id" in cells and "set_id" in cells:
                return "/".join([id_text(cells.get(part, "")) for part in FIGURE_IDS])
            return cell if cell.isalnum() else id_text(cell)
    return None


def row_id(row: Row) -> str:
    """The row's id: `index`, `id`, `idx`, `question_id` or `pid`, else its number from 0."""
    return id_of(row.cells) or str(row.index)


PLACE_COLUMNS: Mapping[PlaceShape, tuple[str, ...]] = {
    "box": ("bbox", "bboxes", "boxes"),
    "point": ("point", "points"),
    "polygon": ("polygon", "segmentation"),
    "mask": ("mask",),
    "span": ("span", "spans"),
}
"""Columns of gold places by their shape, where none is named; then those of other gold answers."""
BOX_NUMBERS: Mapping[tuple[str, ...], BoxForm] = {
    ("xmin", "ymin", "xmax", "ymax"): "corners",
    ("x_min", "y_min", "x_max", "y_max"): "corners",
    ("x1", "y1", "x2", "y2"): "corners",
    ("left", "top", "right", "bottom"): "corners",
    ("x", "y", "w", "h"): "corner-size",
    ("bbox_x", "bbox_y", "bbox_width", "bbox_height"): "corner-size",
    ("x", "y", "width", "height"): "corner-size",
}
"""Four columns that hold the numbers of one gold box in pixels, and what these are."""
KIND_COLUMNS = ("type", "question_type")
"""Columns that say of what kind a question is."""


def may_ask_for_places(columns: Iterable[str]) -> bool:
    """Whether rows with these columns may ask for places, judged by the names alone."""
    present = set(columns)
    names = {*KIND_COLUMNS, *(name for named in PLACE_COLUMNS.values() for name in named)}
    return not names.isdisjoint(present) or any(map(present.issuperset, BOX_NUMBERS))


def gold_column(columns: Iterable[str]) -> str | None:
    """The column that holds the gold answer: the first of `GOLD_COLUMNS` that exists."""
    existing = columns if isinstance(columns, Mapping) else frozenset(columns)
    for name in GOLD_COLUMNS:
        if name in existing:
            return name
    return None


def gold_like_column(rows: Iterable[Row]) -> str | None:
    """The first filled column whose name is like that of a gold answer without being one that is
    searched for, such as `correct_option`."""
    return next((column for row in rows for column in row.cells if is_gold_like(column)), None)


def is_gold_like(column: str) -> bool:
    """Whether a name is like that of a gold answer without being one that is searched for."""
    return _GOLD_LIKE.fullmatch(column) is not None and column not in GOLD_COLUMNS


def gold_answers(cells: Mapping[str, str], column: str | None) -> tuple[str, ...]:
    """All accepted answers; empty if the cell is empty (a hidden split).

    A JSON or Python list of strings holds several answers. A list of numbers does so only in
    `answers` and `refs`, because `[0, 1]` may also be the answer to a mathematical question.
    """
    cell = cells.get(column, "").strip() if column else ""
    if not cell:
        return ()
    items = parse_list(cell) if cell.startswith("[") else None
    if items and (column in _LIST_GOLDS or all(isinstance(item, str) for item in items)):
        return tuple(text for item in items if (text := str(item).strip()))
    return (cell,)


def row_gold(row: Row) -> tuple[str, ...]:
    """The row's accepted answers, from the first gold column that has a value."""
    cells = row.cells
    for name in GOLD_COLUMNS:
        if name in cells:
            return gold_answers(cells, name)
    return ()


def parse_list(text: str) -> Sequence[object] | None:
    """Parse a list of scalars in JSON or Python syntax; None for anything else."""
    text = text.strip()
    if not (text.startswith("[") and text.endswith("]")):
        return None
    try:
        value = parse_json_or_literal(text)
    except ValueError:
        return None
    if not isinstance(value, list) or any(isinstance(item, list | dict) for item in value):
        return None
    return [replace_surrogates(item) for item in value]


def our_names(column_map: Mapping[str, str]) -> Callable[[str], str]:
    """What the user's map (our name -> name in the file) makes of a column's name.

    A mapped column takes our name, whatever the format of the file; another column that already
    has this name becomes `<name> (unused)`, an ignored one `<name> (ignored)`.
    """
    named = {
        column_name(name_in_file, 0): canonical_column(key)
        for key, name_in_file in column_map.items()
        if "+" not in name_in_file and key != IGNORED
    }
    ignored = ignored_columns(column_map)
    roles = {canonical_column(key) for key in column_map}

    def our_name(name: str) -> str:
        if name in ignored:
            return f"{name}{IGNORED_MARK}"
        return named.get(name) or (f"{name} (unused)" if name in roles else name)

    return our_name


def ignored_columns(column_map: Mapping[str, str]) -> frozenset[str]:
    """The columns that are not read."""
    names = column_map[IGNORED].split("+") if IGNORED in column_map else ()
    return frozenset([column_name(name, 0) for name in names])


def rename_columns(columns: Sequence[str], column_map: Mapping[str, str]) -> tuple[str, ...]:
    """Apply the user's column map to column names, as `our_names` does.

    Composite columns, `a+b`, are left to `join_columns`. Raises UnknownName for a column that the
    file does not have.
    """
    if not column_map:
        return tuple(columns)
    for name_in_file in column_map.values():
        for part in name_in_file.split("+"):
            if part not in columns and column_name(part, 0) not in columns:
                raise UnknownName("column", part, columns)
    return tuple(map(our_names(column_map), columns))


def rename_cells(cells: dict[str, str], column_map: Mapping[str, str]) -> dict[str, str]:
    """Apply `rename_columns` to one row, for formats whose rows may have different cells."""
    if not column_map:
        return cells
    present = {
        key: name_in_file
        for key, name_in_file in column_map.items()
        if all(part in cells or column_name(part, 0) in cells for part in name_in_file.split("+"))
    }
    new = dict(zip(rename_columns(tuple(cells), present), cells.values(), strict=True))
    join_columns(new, present)
    return new


def join_columns(cells: dict[str, str], column_map: Mapping[str, str]) -> None:
    """Add composite cells such as `id=split+question_id` to a row: values joined by `/`.

    `cells` already have their new names, so a part that was renamed itself is looked up under the
    new name.
    """
    composites = {
        canonical_column(key): name_in_file
        for key, name_in_file in column_map.items()
        if "+" in name_in_file and key != IGNORED
    }
    if not composites:
        return
    our_name = our_names(column_map)
    cells.update(
        {
            key: "/".join([cells.get(our_name(column_name(part, 0)), "") for part in name_in_file.split("+")])
            for key, name_in_file in composites.items()
        }
    )


def canonical_column(name: str) -> str:
    """The column name for `id`, `gold` or `prediction` of `--columns`: the first that is searched
    for."""
    heads = {"id": ID_COLUMNS[0], "gold": GOLD_COLUMNS[0], "reply": REPLY_COLUMNS[0]}
    return heads.get(name, name)
