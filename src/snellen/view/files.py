"""Write the pages as files that open without a server; the HTML in which their scripts run."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from itertools import combinations
from pathlib import Path
from typing import Any

import msgspec

from snellen.core.atomic_write import atomic_file
from snellen.core.errors import DataError, SnellenError, UsageError, storage_errors
from snellen.core.output import OUTCOMES
from snellen.core.record import Record, every_pass
from snellen.report import format as fmt
from snellen.report.page.embedded import escape_json
from snellen.report.page.layout import page_layout, template_environment
from snellen.report.page.samples import describe
from snellen.report.page.thumbnails import thumbnail_path
from snellen.view.run_catalog import suites_json
from snellen.view.run_row import FLAG_MEANINGS, SETTING_TITLES
from snellen.view.run_view import HOME, RunLibrary, RunView
from snellen.view.sample_index import KINDS, RESULTS
from snellen.view.saved_views import SavedView

CHUNK = 100
"""Samples in one data file."""
MAX_PAIRS = 200
"""Pairs of runs whose difference is written."""
INDEX_FILE = "index.html"


def write_pages(library: RunLibrary, out: Path) -> Path:
    """Write every run of a library below `out`, and return the page to open: `index.html`.

    Thumbnails are copied or made; missing ones are left out. Raises UsageError if `out` holds
    something else, StorageError if it cannot be written.
    """
    if out.exists() and (not out.is_dir() or any(out.iterdir())) and not (out / "data").is_dir():
        raise UsageError(f"{out} is there already and holds no such pages; name another folder")
    if not library.views():
        raise UsageError(f"no run that can be read in {', '.join(map(str, library.catalog.roots))}; nothing to write")
    with storage_errors("write", out):
        images: dict[str, None] = {}
        for view in library.views():
            images |= dict.fromkeys(_write_run(library, view, out))
        library.catalog.finish()
        _write_script(out, "catalog", msgspec.Raw(library.catalog.answer(0, "", float("inf"))))
        _write_script(out, "suites", suites_json())
        _write_script(out, "views", {"views": _read_views(library), "writable": False})
        _write_script(out, "pairs", dict(_pairs(library)))
        page = render_shell({"files": {"chunk": CHUNK, "pictures": list(images)}})
        _write(out / INDEX_FILE, page.encode())
    return out / INDEX_FILE


def _read_views(library: RunLibrary) -> list[SavedView]:
    """The saved views; none if their file is damaged, which costs the pages nothing else."""
    try:
        return library.saved_views.read()
    except DataError:
        return []


def _write_run(library: RunLibrary, view: RunView, out: Path) -> Iterator[str]:
    """Write the data of a run; yields the digests of the thumbnails that were written."""
    view.index.refresh()
    _write_script(out, f"{view.key}/head", view.head())
    try:
        numbers = library.numbers(view.key)
    except SnellenError as error:
        numbers = {"result": "", "protocol": "", "error": str(error)}
    _write_script(out, f"{view.key}/numbers", numbers)
    _write_script(out, f"{view.key}/annotations", library.annotations(view.key))
    columns = view.index.columns()
    _write_script(out, f"{view.key}/columns", {**columns, "more": False, "live": False})
    for index, first in enumerate(range(0, len(view.index), CHUNK)):
        last = min(first + CHUNK, len(view.index))
        records = view.index.records(range(first, last))
        _write_script(out, f"{view.key}/samples-{index}", [describe(record) for record in records])
        _write_script(out, f"{view.key}/texts-{index}", view.index.texts(first, last))
        yield from _write_images(view, records, out)


def _write_images(view: RunView, records: Iterable[Record], out: Path) -> Iterator[str]:
    for record in records:
        for digest in _media(record):
            # None unless it is a digest: nothing else becomes part of a path.
            if thumbnail_path(out, digest) is None:
                continue
            target = out / "media" / digest[:2] / f"{digest}.jpg"
            if not target.is_file():
                data = view.images.thumbnail(digest, record.id)
                if data is None:
                    continue
                _write(target, data)
            yield digest


def _media(record: Record) -> Iterator[str]:
    yield from record.media
    for turn in every_pass(record):
        yield from getattr(turn.output, "images", ())


def _pairs(library: RunLibrary) -> Iterator[tuple[str, dict[str, Any]]]:
    """The differences between runs of one benchmark, in both directions, up to `MAX_PAIRS`."""
    runs = library.views()
    both = [
        pair
        for first_view, second_view in combinations(runs, 2)
        if first_view.run.info.benchmark == second_view.run.info.benchmark
        for pair in ((first_view.key, second_view.key), (second_view.key, first_view.key))
    ]
    for first, second in both[:MAX_PAIRS]:
        yield json.dumps([first, second], separators=(",", ":")), library.comparison(first, second)


def _write_script(out: Path, name: str, value: Any) -> None:
    """Write a script that passes a value to the page: file URLs allow no other way to load data."""
    encoded_name = msgspec.json.encode(name).decode()
    text = f"snellen.put({encoded_name}, {msgspec.json.encode(value).decode()})\n"
    _write(out / "data" / f"{name}.js", text.encode())


def _write(path: Path, data: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with atomic_file(path) as part:
        part.write_bytes(data)


STYLES = ("page.css", "beside.css", "view.css", "samples.css", "home.css")
SCRIPTS = (
    "theme.js",
    "sample.js",
    "passes.js",
    "places.js",
    "beside.js",
    "lightbox.js",
    "columns.js",
    "store.js",
    "words.js",
    "picture.js",
    "list.js",
    "annotations.js",
    "source.js",
    "explorer.js",
    "run.js",
    "agreement.js",
    "replies.js",
    "compare.js",
    "catalog.js",
    "home-state.js",
    "virtual-table.js",
    "home-cells.js",
    "home-matrix.js",
    "home-list.js",
    "home-board.js",
    "home-views.js",
    "home.js",
    "view.js",
)


def render_shell(data_source: Mapping[str, Any]) -> str:
    """The page. `data_source` tells its scripts where their data are, if not on a server."""
    page_data = {
        "outcomes": OUTCOMES,
        "words": fmt.OUTCOME_LABELS,
        "results": RESULTS,
        "kinds": KINDS,
        "settings": SETTING_TITLES,
        "meanings": FLAG_MEANINGS,
        "baselines": [(name, fmt.metric_label(name)) for name in fmt.BASELINES],
        **data_source,
    }
    return (
        template_environment(HOME)
        .get_template("view.html")
        .render(
            **page_layout(STYLES, SCRIPTS, HOME, with_server=True),
            known=escape_json(msgspec.json.encode(page_data)).decode(),
        )
    )
