"""What a file is, decided here and nowhere else: by its suffix a table, by its content the results
of another tool.

Predictions are read as what is detected, and `snellen info FILE` prints it with its reasons.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from snellen.core.errors import DataError, missing_file, refuse_pipe

if TYPE_CHECKING:
    from snellen.data.foreign.layout import ResultsLayout

TABLES = {
    ".tsv": "a table in TSV",
    ".csv": "a table in CSV",
    ".jsonl": "rows in JSON Lines",
    ".json": "a JSON document of rows",
    ".parquet": "a Parquet file",
    ".xlsx": "an Excel workbook",
}
"""Formats of tables by suffix, and what a file of each is called."""
RESULT_SUFFIXES = (".eval", ".txt")
"""Suffixes that only other tools' files of results have."""
_PICKLES = (".pkl", ".pickle")
_HEAD_SIZE = 1 << 16
"""Bytes of a file that are searched for the mark of a layout."""


class Detected(NamedTuple):
    """What a file or folder is, and why."""

    kind: str
    """The name of the kind: of a layout, or of a format of tables."""
    title: str
    by: str
    """What it was recognised by."""
    excluded: tuple[str, ...] = ()
    """What else a file of this suffix may be, each with the mark that this one does not have."""
    layout: ResultsLayout | None = None
    """Of another tool's results."""


def detect(path: Path) -> Detected | None:
    """What a file or folder is; None for one of no known kind. A packed file is what its suffix
    says. Raises OSError."""
    if path.is_dir():
        return _detect_folder(path)
    suffix = table_suffix(path)
    if suffix in _PICKLES:
        return Detected("pickle", "a pickle, which Snellen does not open", f"the suffix {suffix}")
    layouts = _layouts(path.suffix.lower())
    head = _first_bytes(path) if layouts else b""
    excluded: list[str] = []
    for layout in layouts:
        by = f"the suffix {suffix}" if suffix in RESULT_SUFFIXES else layout.mark
        if suffix in RESULT_SUFFIXES or layout.fits(head):
            return Detected(layout.kind, layout.title, by, tuple(excluded), layout)
        excluded.append(f"{layout.title}: it would have {layout.mark}")
    by = f"the suffix {suffix}"
    if suffix == ".jsonl" and path.suffix.lower() == suffix and _is_document(head):
        suffix, by = ".json", "its first line, which is no complete object"
    title = TABLES.get(suffix)
    return None if title is None else Detected(suffix[1:], title, by, tuple(excluded))


def is_results(path: str | Path) -> bool:
    """Whether a path is a file or folder of another tool's results; a pickle counts as one."""
    path = Path(path).expanduser()
    if path.suffix.lower() in _PICKLES:
        return True
    if path.is_dir():
        from snellen.data.foreign import mme

        return bool(mme.mme_files(path))
    found = detect(path) if path.is_file() else None
    return found is not None and found.layout is not None


def table_suffix(path: Path) -> str:
    """The suffix in lower case, of a file that is packed the one before `.gz`."""
    plain = path.with_suffix("") if path.suffix.lower() == ".gz" else path
    return plain.suffix.lower()


def is_empty(path: Path, name: str) -> bool:
    """Whether a file has no bytes. Raises DataError for what is no file that can be read twice."""
    refuse_pipe(path, name)
    try:
        with path.open("rb") as file:
            return not file.read(1)
    except FileNotFoundError:
        raise DataError(f"{name}: {missing_file(path)}") from None
    except OSError as error:
        raise DataError(f"{name} cannot be read: {error.strerror or error}") from error


def refuse_pickle(path: Path, name: str) -> None:
    """Raises DataError for a pickle; the message has a command that converts it."""
    if table_suffix(path) in _PICKLES:
        target = str(path.with_suffix(".json"))
        raise DataError(
            f"{name} is a pickle, which may run any program when it is opened, so Snellen opens "
            'none; if you trust it, convert it once: python -c "import json, pickle; '
            f"d = pickle.load(open('{path}', 'rb')); "
            "json.dump(d.to_dict('records') if hasattr(d, 'to_dict') else d, "
            f"open('{target}', 'w'), default=str)\""
        )


def _detect_folder(folder: Path) -> Detected | None:
    """What a folder is, by the first of these marks that it has."""
    from snellen.data.foreign import mme
    from snellen.data.tables.hub import DatasetName
    from snellen.data.tables.mme_folder import is_mme_folder

    if mme.mme_files(folder):
        return Detected(mme.LAYOUT.kind, mme.LAYOUT.title, mme.LAYOUT.mark, (), mme.LAYOUT)
    if (folder / "run.json").is_file():
        return Detected("run", "a run of Snellen", "its run.json")
    if (folder / "step.json").is_file():
        return Detected("data-set", "a data set that a step of curation wrote", "its step.json")
    if is_mme_folder(folder):
        return Detected("mme-questions", "MME's images and questions", "a text of questions for each image")
    if DatasetName(str(folder), True).is_saved():
        return Detected("dataset", "a data set of the library datasets", "its state.json or dataset_dict.json")
    # Those at the top first: below there may be many pictures.
    if any(table_suffix(path) in TABLES for path in chain(folder.iterdir(), folder.rglob("*"))):
        return Detected("tables", "a folder of tables", "the suffixes of its files")
    return None


def _layouts(suffix: str) -> Sequence[ResultsLayout]:
    """The layouts that a file of this suffix may have, of which only these are imported."""
    if suffix == ".txt":
        from snellen.data.foreign import mme

        return (mme.LAYOUT,)
    if suffix == ".jsonl":
        from snellen.data.foreign import every_eval_ever, lmms_eval

        return every_eval_ever.LAYOUT, lmms_eval.LAYOUT
    if suffix == ".eval":
        from snellen.data.foreign import inspect_ai

        return (inspect_ai.LAYOUT,)
    if suffix == ".json":
        from snellen.data.foreign import inspect_ai, seedbench

        return inspect_ai.LAYOUT, seedbench.LAYOUT
    return ()


def _first_bytes(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(_HEAD_SIZE)


def _is_document(head: bytes) -> bool:
    """Whether a file is one JSON document over several lines, whatever its suffix promises: it
    begins with a list, or its first line is no complete object (LLaVA's `_output.jsonl`)."""
    start = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    return start.startswith(b"[") or start.split(b"\n", 1)[0].strip() == b"{"
