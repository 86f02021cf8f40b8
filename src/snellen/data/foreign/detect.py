"""Prediction files in other tools' layouts: detect the layout and read the rows.

A row is a record as in a JSON file; a failed row has `error` and no `prediction`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path

from snellen.core.errors import DataError
from snellen.core.limits import DEFAULT_LIMITS, Limits
from snellen.data.tables.index import Scan
from snellen.data.tables.json_records import JsonLine
from snellen.data.tables.typed_rows import Record, typed_rows

SUFFIXES = (".eval", ".txt")
"""Suffixes that only other tools' prediction files have."""
PICKLE_SUFFIXES = (".pkl", ".pickle")

_HEAD_SIZE = 1 << 16
_BLOCK_SIZE = 1 << 20


def is_foreign(path: str | Path) -> bool:
    """Whether a path is a prediction file or folder in another tool's layout."""
    path = Path(path).expanduser()
    if path.suffix.lower() in PICKLE_SUFFIXES:
        return True
    if path.is_dir():
        from snellen.data.foreign.mme import mme_files

        return bool(mme_files(path))
    return path.is_file() and _record_reader(path, path.suffix.lower(), path.name, DEFAULT_LIMITS) is not None


def scan_foreign(
    path: Path, suffix: str, column_map: Mapping[str, str], name: str, limits: Limits = DEFAULT_LIMITS
) -> Scan | None:
    """Read a file in another tool's layout; None if it is an ordinary table.

    `path` is the unpacked file, `suffix` the suffix of its name. Raises DataError for a pickle
    (opening one may run any code) and for a file that breaks its own layout.
    """
    refuse_pickle(path, suffix, name)
    if path.is_dir():
        from snellen.data.foreign.mme import mme_files, mme_records

        files = mme_files(path)
        if not files:
            raise DataError(
                f"{name} is a folder without result files; expected MME's results, one file for "
                "each subtask, or the path of one predictions file"
            )
        return _scan_records(mme_records(files, limits), files, column_map, name)
    read_records = _record_reader(path, suffix, name, limits)
    return None if read_records is None else _scan_records(read_records(), [path], column_map, name)


def is_json_document(path: Path) -> bool:
    """Whether a file is one JSON document over several lines, whatever its suffix promises: it
    begins with a list, or its first line is no complete object (LLaVA's `_output.jsonl`)."""
    with path.open("rb") as file:
        head = file.read(_HEAD_SIZE).removeprefix(b"\xef\xbb\xbf").lstrip()
    return head.startswith(b"[") or head.split(b"\n", 1)[0].strip() == b"{"


def refuse_pickle(path: Path, suffix: str, name: str) -> None:
    """Raises DataError for a pickle; the message has a command that converts it."""
    if suffix in PICKLE_SUFFIXES:
        target = str(path.with_suffix(".json"))
        raise DataError(
            f"{name} is a pickle, which may run any program when it is opened, so Snellen opens "
            'none; if you trust it, convert it once: python -c "import json, pickle; '
            f"d = pickle.load(open('{path}', 'rb')); "
            "json.dump(d.to_dict('records') if hasattr(d, 'to_dict') else d, "
            f"open('{target}', 'w'), default=str)\""
        )


def _record_reader(path: Path, suffix: str, name: str, limits: Limits) -> Callable[[], Iterable[Record]] | None:
    """The reader of another tool's layout, of which only that of the file's suffix is imported."""
    if suffix == ".txt":
        from snellen.data.foreign.mme import mme_records

        return partial(mme_records, [path], limits)
    if suffix not in (".eval", ".json", ".jsonl"):
        return None
    with path.open("rb") as file:
        head = file.read(_HEAD_SIZE)
    if suffix == ".jsonl":
        from snellen.data.foreign.every_eval_ever import every_eval_ever_records, is_every_eval_ever
        from snellen.data.foreign.lmms_eval import is_lmms_eval, lmms_eval_records

        if is_every_eval_ever(head):
            return partial(every_eval_ever_records, path, name, limits)
        return partial(lmms_eval_records, path, name, limits) if is_lmms_eval(head) else None
    from snellen.data.foreign.inspect_ai import inspect_records, is_inspect_json
    from snellen.data.foreign.seedbench import is_json_lines, seed_records

    if suffix == ".eval" or is_inspect_json(head):
        return partial(inspect_records, path, name, limits)
    return partial(seed_records, path, name, limits) if is_json_lines(head) else None


def _scan_records(records: Iterable[Record], files: Sequence[Path], column_map: Mapping[str, str], name: str) -> Scan:
    no_location = JsonLine(0, 0, b"").image_location
    rows = typed_rows(((record, no_location) for record in records), column_map, name)
    return Scan((), rows, partial(_files_digest, files))


def _files_digest(files: Sequence[Path]) -> str:
    """SHA-256 of a file, or of the names and contents of several files."""
    hashed = hashlib.sha256()
    for path in files:
        if len(files) > 1:
            hashed.update(path.name.encode() + b"\0")
        with path.open("rb") as file:
            while block := file.read(_BLOCK_SIZE):
                hashed.update(block)
    return hashed.hexdigest()
