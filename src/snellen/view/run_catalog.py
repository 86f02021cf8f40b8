"""All runs of some folders as rows, kept up to date while the pages are open; suites as the board shows them."""

from __future__ import annotations

import functools
import os
import secrets
import time
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from threading import Lock, Thread
from typing import Any

import msgspec

from snellen.api.report import report_of
from snellen.benchmarks.declaration.registry import Suite, builtin_suites, member_key
from snellen.core.errors import UsageError, storage_errors
from snellen.core.summary import Interval
from snellen.report.format import interval_text, score_text
from snellen.store.annotations import ANNOTATIONS_FILE
from snellen.store.run_catalog_file import ABSENT, CLOSED, file_state
from snellen.store.runs import FAILURES_FILE, REPORT_FILE, RUN_FILE, SAMPLES_FILE, open_run
from snellen.view.run_index import IndexedRun, RunIndex, Snapshot
from snellen.view.run_row import CatalogRow, model_family, read_row, with_problem, with_score, with_score_of

FIRST_READ_SECONDS, LATER_READ_SECONDS = 0.4, 0.8
"""Seconds that the first answer, and each later one, may spend on reading runs; the others come
with the next answer."""
_SCAN_FACTOR = 10
"""Folders are looked through again after this many times the seconds that it took."""
_SCORE_FACTOR = 10
"""A growing run is summarised again after this many times the seconds that it took."""
_DEPTH = 2
"""Runs are looked for in the folder, and in its folders."""
_STEP_SECONDS, _PAUSE_SECONDS = 0.2, 0.01
_SAVE_SECONDS = 60.0
"""A snapshot is kept at most this often."""
_SAVED_AT_ONCE = 2000
"""Rows that were read are kept in the index after this many."""


class _Entry(msgspec.Struct):
    """A run folder that a scan found."""

    key: str
    folder: str
    """The folder that holds the run's, for readers."""
    state: str
    row: CatalogRow
    serial: int
    """Number of the change that last modified the row."""
    scored_state: str = ""
    """State of the files from which an unfinished run was last summarised."""
    next_score: float = 0.0
    """Time before which a growing run is not summarised again."""


class RunCatalog:
    """The runs of some folders, and those that appear in them later. Thread-safe."""

    def __init__(self, paths: Sequence[Path | str], index: RunIndex | None = None) -> None:
        """Raises UsageError for a path that is no folder, StorageError for one that cannot be
        read."""
        self.roots = [Path(path) for path in paths]
        for root in self.roots:
            _check_folder(root)
        self._index = RunIndex() if index is None else index
        self._lock = Lock()
        self._entries: dict[str, _Entry] = {}
        self._paths: dict[str, str] = {}
        """Path of each run's folder by its key."""
        self._gone: list[tuple[int, str]] = []
        self._roots_name = "\n".join(str(root.resolve()) for root in self.roots)
        self._snapshot = self._index.load_snapshot(self._roots_name)
        # A page that outlives its server reloads all rows: the next server numbers changes from the
        # start.
        self.identity = secrets.token_hex(8)
        self._serial = self._saved_serial = self._snapshot.serial if self._snapshot else 1
        self._is_read = False
        self._unread: dict[str, tuple[str, str]] = {}
        """State and displayed folder of runs that are still to be read, by path."""
        self._stored: dict[str, IndexedRun] | None = None
        self._next_scan = 0.0
        self._scoring: Thread | None = None
        self._full_body: tuple[int, bytes] = (0, b"")
        self._next_save = 0.0
        self._saving: Thread | None = None

    def __len__(self) -> int:
        return len(self._entries)

    def refresh(self, seconds: float = float("inf"), *, now: bool = False) -> bool:
        """Look for new and changed runs and read them for about this many seconds. Returns whether
        all were read. The folders are looked through `now`, or if that was not done just before."""
        with self._lock:
            deadline = time.monotonic() + seconds
            if not self._unread and (now or time.monotonic() >= self._next_scan):
                started = time.monotonic()
                self._scan()
                ended = time.monotonic()
                self._next_scan = ended + _SCAN_FACTOR * (ended - started)
            self._read_until(deadline)
            if not self._unread:
                self._finish_reading()
                self._start_scoring()
                self._start_saving()
            return not self._unread

    def read_all(self) -> None:
        """Read all runs, in steps, so that pages get in between what was read so far."""
        while not self.refresh(_STEP_SECONDS):
            time.sleep(_PAUSE_SECONDS)

    def finish(self) -> None:
        """Wait until the runs that have not ended are summarised too, and what was read is kept."""
        while self._scoring is not None and self._scoring.is_alive():
            self._scoring.join()
            self.refresh()
        if self._saving is not None:
            self._saving.join()

    def path(self, key: str) -> Path | None:
        """The folder of a run; None if there is no run with this key."""
        path = self._paths.get(key)
        return None if path is None else Path(path)

    def roots_without_runs(self) -> list[Path]:
        """The folders of those named that hold no run so far."""
        return [root for root in self.roots if next(_run_folders(str(root.resolve()), _DEPTH), None) is None]

    def rows(self) -> list[tuple[str, CatalogRow]]:
        """The key and row of each run, in the order of their folders."""
        with self._lock:
            return [(entry.key, entry.row) for _, entry in sorted(self._entries.items())]

    def answer(self, since: int, server: str, seconds: float) -> bytes:
        """The rows that changed after the change `since` of this `server` (its `identity`), as JSON
        for the pages (`catalog.js`); all rows for another server.

        Until all runs are read, that is what the page was sent last, if it is known.
        """
        is_full = server != self.identity
        if is_full and not self._is_read and self._snapshot is not None:
            return self._with_head(self._snapshot.body, complete=False)
        complete = self.refresh(seconds)
        with self._lock:
            if is_full:
                return self._with_head(self._all_rows(), complete)
            entries = [entry for _, entry in sorted(self._entries.items()) if entry.serial > since]
            gone = [key for serial, key in self._gone if serial > since]
            return self._with_head(self._rows_json(entries, gone, is_full=False), complete)

    def _with_head(self, body: bytes, complete: bool) -> bytes:
        head = msgspec.json.encode({"server": self.identity, "more": not complete})
        return head[:-1] + b"," + body[1:]

    def _all_rows(self) -> bytes:
        if self._full_body[0] != self._serial:
            entries = [entry for _, entry in sorted(self._entries.items())]
            self._full_body = self._serial, self._rows_json(entries, [], is_full=True)
        return self._full_body[1]

    def _rows_json(self, entries: Sequence[_Entry], gone: Sequence[str], *, is_full: bool) -> bytes:
        total = len(self._entries) + len(self._unread.keys() - self._entries.keys())
        return msgspec.json.encode(
            {"serial": self._serial, "full": is_full, "total": total, "gone": gone, **_columns(entries)}
        )

    def _finish_reading(self) -> None:
        """After the first time that all runs were read: those of the snapshot that are gone."""
        if self._is_read:
            return
        self._is_read = True
        if self._snapshot is not None:
            for path, (key, _) in self._snapshot.known.items():
                if path not in self._entries:
                    self._serial += 1
                    self._gone.append((self._serial, key))
            if self._serial == self._snapshot.serial:
                self._full_body = self._serial, self._snapshot.body
        self._snapshot = None

    def _start_saving(self) -> None:
        """Keep a snapshot, in a thread, if anything changed, but not all the time."""
        is_busy = self._saving is not None and self._saving.is_alive()
        if is_busy or self._serial == self._saved_serial or time.monotonic() < self._next_save:
            return
        self._saving = Thread(target=self.save_snapshot, daemon=True)
        self._saving.start()

    def save_snapshot(self) -> None:
        """Keep what the page is sent for the next start."""
        with self._lock:
            known = {path: (entry.key, _mark(entry)) for path, entry in self._entries.items()}
            snapshot = Snapshot(self._serial, known, self._all_rows())
        self._index.save_snapshot(self._roots_name, snapshot)
        self._saved_serial = snapshot.serial
        self._next_save = time.monotonic() + _SAVE_SECONDS

    def _scan(self) -> None:
        """Find what is new, changed or gone since the last time."""
        found: set[str] = set()
        for root in self.roots:
            base = str(root.resolve())
            try:
                self._scan_root(root, base, found)
            except OSError:
                # The folder was moved away meanwhile; the others stay.
                continue
        for path in [path for path in self._entries if path not in found]:
            entry = self._entries.pop(path)
            self._paths.pop(entry.key, None)
            self._serial += 1
            self._gone.append((self._serial, entry.key))
        if self._unread and self._stored is None:
            self._stored = {}
            for root in self.roots:
                self._stored |= self._index.load(str(root.resolve()))

    def _scan_root(self, root: Path, base: str, found: set[str]) -> None:
        for path, run_file in _run_folders(base, _DEPTH):
            if path in found:
                continue
            found.add(path)
            known = self._entries.get(path)
            unfinished = known is not None and known.row.is_unfinished
            state = f"{run_file} {_other_files_state(path, unfinished)}"
            if known is None or known.state != state:
                self._unread[path] = (state, _folder_label(root, base, path))

    def _read_until(self, deadline: float) -> None:
        """Read rows of unread folders until `deadline` (of `time.monotonic`), at least one; save
        new rows to the index."""
        stored = self._stored or {}
        fresh: dict[str, IndexedRun] = {}
        for path in sorted(self._unread):
            state, folder = self._unread.pop(path)
            known = stored.get(path)
            if known is None or known.state != state:
                known = _read_run(path, known)
                if known is not stored.get(path):
                    fresh[path] = known
            self._put(path, folder, known)
            if len(fresh) >= _SAVED_AT_ONCE:
                self._index.save(fresh, ())
                fresh = {}
            if time.monotonic() > deadline:
                break
        if fresh or (self._stored and not self._unread):
            gone = [] if self._unread else [path for path in stored if path not in self._entries]
            if fresh or gone:
                self._index.save(fresh, gone)
        if not self._unread:
            self._stored = None if self._stored is None else {}

    def _put(self, path: str, folder: str, run: IndexedRun) -> None:
        """Add or replace the row of a folder under the next number of a change. A row that the page
        already has from the snapshot keeps the snapshot's number."""
        self._serial += 1
        row = run.row
        scored = run.state if row.value is not None or row.problem else ""
        before = self._entries.get(path)
        if before is not None:
            if row.is_unfinished and not scored and before.row.value is not None:
                # The number stays until that of the new samples is there.
                row = with_score_of(row, before.row)
            before.state, before.row, before.serial = run.state, row, self._serial
            before.scored_state = scored
            return
        known = self._snapshot.known.get(path) if self._snapshot else None
        key = self._free_key(path) if known is None else known[0]
        entry = _Entry(key, folder, run.state, row, self._serial, scored)
        if known is not None and self._snapshot is not None and known[1] == _mark(entry):
            # The page has it from the snapshot.
            self._serial -= 1
            entry.serial = self._snapshot.serial
        self._paths[key] = path
        self._entries[path] = entry

    def _free_key(self, path: str) -> str:
        """The name of the folder, with a number if another folder has the same name."""
        taken = {key for key, _ in self._snapshot.known.values()} if self._snapshot else set()
        name = path.rpartition("/")[2]
        key, number = name, 1
        while key in self._paths or key in taken:
            number += 1
            key = f"{name}~{number}"
        return key

    def _start_scoring(self) -> None:
        """Summarise the runs that have not ended, in a thread: that reads their samples."""
        if self._scoring is not None and self._scoring.is_alive():
            return
        now = time.monotonic()
        pending = [
            (path, entry)
            for path, entry in self._entries.items()
            if entry.row.is_unfinished
            and entry.scored_state != entry.state
            and not entry.state.endswith(_NO_SAMPLES)
            and now >= entry.next_score
        ]
        if pending:
            pending.sort(key=lambda item: item[1].row.created, reverse=True)
            self._scoring = Thread(target=self._score, args=(pending,), daemon=True)
            self._scoring.start()

    def _score(self, pending: Sequence[tuple[str, _Entry]]) -> None:
        scored: dict[str, IndexedRun] = {}
        for path, entry in pending:
            state, row = entry.state, entry.row
            # First, so that a run whose benchmark is broken is tried once.
            entry.scored_state = state
            started = time.monotonic()
            try:
                row = with_score(row, report_of(open_run(path)))
            except Exception as error:  # noqa: BLE001 - a benchmark of a user may raise anything, and the others go on
                row = with_problem(row, error)
            now = time.monotonic()
            with self._lock:
                entry.next_score = now + _SCORE_FACTOR * (now - started)
                if entry.state == state and path in self._entries:
                    self._serial += 1
                    entry.row, entry.serial, entry.scored_state = row, self._serial, state
                    scored[path] = IndexedRun(state, row)
        self._index.save(scored, ())


def _mark(entry: _Entry) -> str:
    """A mark that differs if the row sent to a page differs."""
    return f"{entry.state} {entry.folder} {entry.scored_state == entry.state}"


def _check_folder(root: Path) -> None:
    if not root.exists():
        raise UsageError(f"no run in {root}: there is no such file or folder")
    if not root.is_dir():
        raise UsageError(f"no run in {root}: it is a file; give the folder of a run")
    with storage_errors("read", root):
        os.scandir(root).close()


def _read_run(path: str, stored: IndexedRun | None) -> IndexedRun:
    """Read the row of a folder, unless the stored one is of the same state."""
    # The state from before the reading: what is written meanwhile is read again.
    state = f"{file_state(f'{path}/{RUN_FILE}')} {_other_files_state(path, True)}"
    row = read_row(Path(path))
    if not row.is_unfinished:
        state = " ".join(state.split()[:_ENDED_FILES])
    return stored if stored is not None and stored.state == state else IndexedRun(state, row)


def _run_folders(folder: str, depth: int) -> Iterator[tuple[str, str]]:
    """Paths of run folders at or below a folder, with the states of their `run.json`."""
    state = file_state(f"{folder}/{RUN_FILE}")
    if state != ABSENT:
        yield folder, state
        return
    try:
        with os.scandir(folder) as entries:
            children = [entry.path for entry in entries if _is_folder(entry)]
    except OSError:
        if depth == _DEPTH:
            raise
        return
    for path in children:
        state = file_state(f"{path}/{RUN_FILE}")
        if state == CLOSED and "--" not in path.rpartition("/")[2]:
            # Not named like a run: some other folder that is closed to this user.
            continue
        if state != ABSENT:
            yield path, state
        elif depth > 1:
            yield from _run_folders(path, depth - 1)


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir() and not entry.name.startswith(".")
    except OSError:
        return False


_ENDED_FILES = 3
"""Files in the state of a run that has ended: `run.json`, `report.json` and the annotations."""
_NO_SAMPLES = f" {ABSENT} {ABSENT}"
"""End of the state of an unfinished run that has neither samples nor failures."""


def _other_files_state(path: str, unfinished: bool) -> str:
    """The state of the other files from which a row is made; of the samples only as long as the
    run is unfinished."""
    names = (REPORT_FILE, ANNOTATIONS_FILE, *((SAMPLES_FILE, FAILURES_FILE) if unfinished else ()))
    return " ".join([file_state(f"{path}/{name}") for name in names])


def _folder_label(root: Path, base: str, path: str) -> str:
    """The folder that holds a run's, as a reader named it."""
    if path == base:
        return str(root.parent)
    inside = path.rpartition("/")[0][len(base) :].strip("/")
    return f"{root}/{inside}" if inside else str(root)


_INTERNED = (
    "model",
    "benchmark",
    "status",
    "provider",
    "title",
    "source",
    "metric",
    "unit",
    "top",
    "level",
    "cost",
    "setting",
    "identity",
    "flags",
    "labels",
    "notes",
    "flagged",
    "problem",
)
_PLAIN = ("n", "samples", "done", "seconds", "tokens")


def _columns(entries: Sequence[_Entry]) -> dict[str, Any]:
    """Rows by column. Values that many rows share are numbers of a list."""
    rows = [entry.row for entry in entries]
    shared = {name: _intern_column([getattr(row, name) for row in rows]) for name in _INTERNED}
    shared["folder"] = _intern_column([entry.folder for entry in entries])
    families = {model: model_family(model) for model in {row.model for row in rows}}
    shared["family"] = _intern_column([families[row.model] for row in rows])
    shared["score"] = _intern_column([score_text(row.value) for row in rows])
    shared["interval"] = _intern_column([_interval_text(row) for row in rows])
    shared["baselines"] = _intern_column([_rounded_items(row.baselines) for row in rows])
    shared["metrics"] = _intern_column([_rounded_items(row.metrics, suite_metrics()) for row in rows])
    return {
        "rows": len(rows),
        "shared": shared,
        "plain": {
            "key": [entry.key for entry in entries],
            "created": [row.created[:19] for row in rows],
            "value": [None if row.value is None else round(row.value, 4) for row in rows],
            "low": [None if row.low is None else round(row.low, 1) for row in rows],
            "high": [None if row.high is None else round(row.high, 1) for row in rows],
            **{name: [getattr(row, name) for row in rows] for name in _PLAIN},
        },
    }


def _intern_column(values: Sequence[Any]) -> dict[str, list[Any]]:
    numbers: dict[Any, int] = {}
    codes = [numbers.setdefault(value, len(numbers)) for value in values]
    return {"values": list(numbers), "codes": codes}


def _interval_text(row: CatalogRow) -> str:
    if row.low is None or row.high is None:
        return ""
    return interval_text(Interval(row.low, row.high, ""))


def _rounded_items(numbers: dict[str, float], names: Collection[str] = ()) -> tuple[tuple[str, float], ...]:
    """Numbers by name, with `names` those alone."""
    return tuple((name, round(value, 4)) for name, value in sorted(numbers.items()) if not names or name in names)


@functools.cache
def suites_json() -> list[dict[str, Any]]:
    """The built-in suites as plain JSON: members with the benchmarks, and the parameters that a run
    must have to count."""
    return [_suite_json(name, suite) for name, suite in builtin_suites().items()]


@functools.cache
def suite_metrics() -> frozenset[str]:
    """The metrics by which members of suites count, where that is not the headline."""
    members = (member for suite in builtin_suites().values() for member in suite.members)
    return frozenset(member.metric for member in members if member.metric is not None)


def _suite_json(name: str, suite: Suite) -> dict[str, Any]:
    members = []
    for member in suite.members:
        try:
            keys = [member_key(spec) for spec in member.benchmarks]
        except UsageError:
            # A benchmark that needs an extra that is not installed: no run of it is expected.
            keys = []
        members.append(
            {
                "name": member.name,
                "metric": member.metric,
                "benchmarks": [
                    [benchmark, [f"{key}={value}" for key, value in parameters.items()]]
                    for benchmark, parameters in keys
                ],
            }
        )
    return {"name": name, "title": suite.title, "average": suite.average, "members": members}
