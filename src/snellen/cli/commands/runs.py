"""`snellen runs`: find stored runs, say what they cost, archive, copy, move and delete them."""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from snellen.api.flags import argument, option
from snellen.api.run_conditions import ENDED, GONE, KILLED, RUNNING, parse_conditions
from snellen.cli.flags import print_warning
from snellen.cli.output import OutputOptions, only_file, print_line, write_document
from snellen.core.errors import UsageError
from snellen.report.format import plural

if TYPE_CHECKING:
    from snellen.api.run_storage import DeletedRuns
    from snellen.report.document import Document
    from snellen.view.run_row import CatalogRow

CONSENT = "yes"


def _parse_consent(text: str) -> str:
    if text in ("", CONSENT):
        return text
    raise UsageError(f"{text!r}: expected --delete, or --delete {CONSENT}; folders stand before it")


@dataclass(frozen=True, kw_only=True)
class Options(OutputOptions):
    """What `snellen runs` takes."""

    folders: Sequence[str] = argument("FOLDER", "folders of runs, run folders, or archives of runs (results)", "*")
    where: str | None = option(None, "--where", metavar="CONDITIONS", parse=str)
    """Conditions of `api.run_conditions`; None: all runs."""
    out: str | None = option(None, "--out")
    """Where the runs are copied with their replies, or moved with `--delete`."""
    delete: str | None = option(
        None,
        "--delete",
        "delete what is named; of runs also the replies that no other run needs, once they are in --out or in the "
        "archive of -o; asks first, unless it is `--delete yes`",
        metavar=CONSENT,
        parse=_parse_consent,
        bare_value="",
    )

    @property
    def archive(self) -> str | None:
        """The archive to write."""
        return only_file([file for file in self.output if _is_named_archive(file)])

    def texts(self) -> dict[Path, str]:
        """The files to write besides the archive."""
        files = [file for file in self.output if not _is_named_archive(file)]
        return OutputOptions(format=self.format, json=self.json, output=files).texts()


def _is_named_archive(file: str) -> bool:
    return file.lower().endswith((".tar.gz", ".tgz"))


class StoredRun(NamedTuple):
    """A run on disk, or one that a store knows and that is gone."""

    path: Path
    row: CatalogRow
    facts: Mapping[str, str | float | None]
    store: Path | None = None
    """Of a run that is gone: the store."""

    @property
    def state(self) -> str:
        return str(self.facts["state"])


def main(options: Options) -> None:
    """Print the runs and what they cost; then do what the flags say."""
    from snellen.api.options import DEFAULT_OUT

    fits = parse_conditions(options.where) if options.where is not None else None
    if options.delete is not None and fits is None:
        raise UsageError("--delete needs --where, so that it is said which runs go; all of them: --where 'run=*'")
    sources = list(options.folders) or [str(DEFAULT_OUT)]
    runs = find_stored_runs(sources, fits)
    write_document(_document(runs), options)
    there = [run for run in runs if run.state != GONE]
    idle = [run for run in there if run.state != RUNNING]
    acts = options.archive is not None or options.out is not None or options.delete is not None
    if acts and len(idle) < len(there):
        print_warning(f"{len(there) - len(idle)} of these runs are going on; they are left as they are")
    if options.delete is not None and (links := [run for run in idle if run.path.is_symlink()]):
        print_warning(f"{len(links)} of these runs are links to other folders; they are left as they are: name those")
        idle = [run for run in idle if run not in links]
    gone = [run for run in runs if run.state == GONE] if options.out is None and options.archive is None else []
    if acts and (idle or gone):
        _act(idle, gone, options, sources)


def find_stored_runs(
    sources: Sequence[str], fits: Callable[[Mapping[str, str | float | None]], bool] | None
) -> list[StoredRun]:
    """The runs of the sources that fulfil conditions, by their folders. Those that are gone are found by these
    alone. Raises UsageError."""
    from snellen.api.run_sources import source_folders
    from snellen.view.run_catalog import RunCatalog

    folders = source_folders(sources)
    catalog = RunCatalog(folders)
    catalog.read_all()
    catalog.finish()
    found = []
    for key, row in catalog.rows():
        path = catalog.path(key)
        if path is not None:
            found.append(StoredRun(path, row, _facts(path, row, _state(path, row))))
    if fits is not None:
        found += _gone_runs({*folders, *(run.path.parent for run in found)})
    return [run for run in found if fits is None or fits(run.facts)]


def _facts(path: Path, row: CatalogRow, state: str) -> dict[str, str | float | None]:
    facts = row.facts()
    return {
        "run": path.name,
        "folder": str(path.parent),
        "state": state,
        "day": row.created[:10],
        "hours": row.seconds / 3600,
        **facts,
    }


def _state(path: Path, row: CatalogRow) -> str:
    """ended, killed (also interrupted), running, or damaged."""
    from snellen.api.run_storage import is_going_on

    if row.is_live:
        return RUNNING if is_going_on(path) else KILLED
    return KILLED if row.is_unfinished else ENDED if row.status in ("complete", "incomplete") else row.status


def _gone_runs(folders: Iterable[Path]) -> list[StoredRun]:
    """The runs that the stores in these folders know and that are gone."""
    from snellen.store.responses import STORE_FILE
    from snellen.store.run_replies import missing_runs
    from snellen.view.run_row import CatalogRow

    found = []
    stores = {(folder / STORE_FILE).resolve() for folder in folders if (folder / STORE_FILE).is_file()}
    for store in sorted(stores):
        for path in missing_runs(store):
            model, _, rest = path.name.partition("--")
            row = CatalogRow(path.name, model, rest.partition("--")[0], GONE)
            found.append(StoredRun(path, row, _facts(path, row, GONE), store))
    return found


_COLUMNS = ("model", "benchmark", "setting", "state", "score", "n", "day", "tokens", "cost", "hours", "bytes")


def _document(runs: Sequence[StoredRun]) -> Document:
    from snellen.report import format as fmt
    from snellen.report.document import Column, Document, Line, Table

    kinds = {"score": Column("score", "points"), "n": Column("n", "count"), "tokens": Column("tokens", "count")}
    columns = [kinds.get(name, Column(name)) for name in _COLUMNS]
    rows = []
    for run in runs:
        shown = {
            **run.facts,
            "cost": run.row.cost,
            "hours": f"{run.facts['hours']:.2f}",
            "bytes": fmt.size(run.row.size),
        }
        rows.append([shown[name] for name in _COLUMNS])
    table = Table("runs", columns, rows, [f"columns: {', '.join(_COLUMNS)}"], on_terminal="lines")
    return Document([table, Line(_totals(runs))], data=[{**run.facts, "path": str(run.path)} for run in runs])


def _totals(listed: Sequence[StoredRun]) -> str:
    """What the runs cost together. One that is listed twice counts once, and so does a shard that was merged."""
    from snellen.report import format as fmt

    distinct = {run.path.resolve(): run for run in listed}
    shards = _merged_shards(distinct)
    runs = [run for path, run in distinct.items() if path not in shards]
    money: dict[str, float] = {}
    for run in runs:
        for currency, cost in run.row.money.items():
            money[currency] = money.get(currency, 0.0) + cost
    parts = [
        fmt.plural(sum(run.row.tokens for run in runs), "token"),
        *(fmt.money(cost, currency) for currency, cost in sorted(money.items())),
        fmt.duration(sum(run.row.seconds for run in runs)),
        fmt.size(sum(run.row.size for run in distinct.values())),
    ]
    counted = f", of which {len(shards)} are merged shards" if shards else ""
    return f"{fmt.plural(len(distinct), 'run')}{counted}: {', '.join(parts)}"


def _merged_shards(runs: Collection[Path]) -> list[Path]:
    """The shards among the runs that another of them was merged from: runs of one name have the same settings."""
    from snellen.core.shard import RunShard
    from snellen.store.runs import open_run

    shards = {path: shard.text for path in runs if (shard := RunShard.of_folder(path.parent))}
    names = {path.name for path in shards}
    merged = {path.name: open_run(path).info.merged for path in runs if path.name in names and path not in shards}
    return [path for path, text in shards.items() if text in merged.get(path.name, {})]


def _act(idle: Sequence[StoredRun], gone: Sequence[StoredRun], options: Options, sources: Sequence[str]) -> None:
    """Archive, copy, move or delete."""
    from snellen.api.run_storage import copy_runs, delete_runs, move_runs
    from snellen.store.run_archive import is_archive, write_archive

    # Of a run that a link leads to, the replies are beside its folder.
    paths = list(dict.fromkeys(run.path.resolve() for run in idle))
    is_agreed = options.delete is not None and _agrees(options.delete, len(idle) + len(gone))
    if options.delete is not None and any(map(is_archive, sources)):
        raise UsageError("runs inside of an archive are not deleted; delete the file, or write another with -o")
    if options.archive is not None:
        write_archive(paths, Path(options.archive))
        print_line(f"{options.archive} holds {plural(len(paths), 'run')} with the replies", error=True)
    if options.out is not None and not is_agreed:
        replies = plural(copy_runs(paths, Path(options.out)), "reply", "replies")
        print_line(f"copied to {options.out}: {plural(len(paths), 'run')} and {replies}", error=True)
    elif options.out is not None:
        _print_deleted(f"moved to {options.out}", len(paths), move_runs(paths, Path(options.out)))
    elif is_agreed:
        stores = [(run.path, run.store) for run in gone if run.store is not None]
        _print_deleted("deleted", len(paths) + len(gone), delete_runs(paths, stores))


def _print_deleted(what: str, count: int, deleted: DeletedRuns) -> None:
    replies = plural(deleted.replies, "reply that no other needs", "replies that no other needs")
    print_line(f"{what}: {plural(count, 'run')}; deleted: {replies}", error=True)
    for reason in deleted.reasons:
        print_warning(reason)


def _agrees(given: str, count: int) -> bool:
    """Whether the user agrees that runs are deleted. Raises UsageError if nobody can be asked."""
    if given == CONSENT:
        return True
    if not sys.stdin.isatty():
        raise UsageError(f"nothing was deleted: {plural(count, 'run')} listed above; to delete, --delete {CONSENT}")
    print_line(f"delete {plural(count, 'run')}? [y/N] ", error=True, flush=True)
    return sys.stdin.readline().strip().lower() in ("y", CONSENT)
