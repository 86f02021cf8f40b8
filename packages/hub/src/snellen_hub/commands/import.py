"""`snellen hub import`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from snellen.api.flags import FlagKey, argument, option, parse_facts
from snellen.cli.output import TABLE, FormatOptions, print_document, print_line
from snellen.core.errors import COMPLETE, INCOMPLETE, UnknownName, UsageError
from snellen_hub.commands import OWNER, hub_folder, print_done

if TYPE_CHECKING:
    from sqlalchemy.orm import Session

    from snellen.report.document import Document
    from snellen_hub.hub import Hub
    from snellen_hub.reported_numbers.importing import ImportedBoard
    from snellen_hub.reported_numbers.numbers import ReportedTables
    from snellen_hub.reported_numbers.runs import ImportedRun

_PAPER = "paper:"
_RUN_COLUMNS = ("model", "submission", "state", "run")
_MOST_CHANGES = 20
"""Changed numbers of a board that are printed."""
FACT_KEYS: Mapping[str, FlagKey] = {
    "source": FlagKey("where the numbers of a table are from, as readers see it"),
    "url": FlagKey("address of the source"),
    "table": FlagKey("which table of the source"),
    "note": FlagKey("what readers must know of it"),
    "protocol": FlagKey("how the numbers were made, if otherwise than the benchmark's protocol says"),
    "highest": FlagKey("the highest value that a score can have (100); 1 for shares"),
}


def parse_source(text: str) -> dict[str, Any]:
    """Read the facts of a table's source. Raises UsageError."""
    facts: dict[str, Any] = dict(parse_facts(text))
    for name in facts.keys() - FACT_KEYS.keys():
        raise UnknownName("fact", name, list(FACT_KEYS))
    if "highest" in facts:
        try:
            facts["highest"] = float(facts["highest"])
        except ValueError:
            raise UsageError(f"highest={facts['highest']}: expected a number") from None
    return facts


@dataclass(frozen=True, kw_only=True)
class Options(FormatOptions):
    """What `snellen hub import` takes."""

    folder: str = hub_folder()
    sources: Sequence[str] = argument(
        "SOURCE",
        "a table of reported numbers, whose columns --columns names: model, samples, parameters "
        "and other facts, score, and further numbers as METRIC or GROUP/LABEL; paper:NAME, the "
        "tables of a paper (mme, mmbench, mmt, seed, vlmevalkit or all); a run folder or a folder "
        "of them; with --name a file of predictions",
        "*",
    )
    benchmark: str | None = option(None, "--benchmark")
    """The board that the sources belong to, but for papers."""
    name: str | None = option(None, "--name")
    """The model of a file of predictions."""
    columns: Mapping[str, str] = option({}, "--columns")
    """Of a table: `model`, `samples`, from which intervals follow, the facts of models, and
    otherwise numbers, the headline first: `score`, METRIC or GROUP/LABEL."""
    facts: Mapping[str, Any] = option({}, "--facts", keys=FACT_KEYS, parse=parse_source)
    allow_missing: bool = option(False, "--allow-missing")
    publish: bool = option(False, "--publish")
    """Score the runs that wait here and now, and publish them."""
    owner: str | None = option(None, "--owner", OWNER, metavar="NAME")
    """None: the first owner."""
    dry_run: bool = option(False, "--dry-run", "say what would change; write nothing", is_switch=True)
    withdraw: str | None = option(None, "--withdraw")
    """Take the reported numbers of a source off the boards: its title, or how it begins."""


def main(options: Options) -> int:
    """Import, or withdraw what was imported."""
    from snellen_hub.hub import open_hub
    from snellen_hub.reported_numbers.runs import find_runs

    papers = [source for source in options.sources if source.startswith(_PAPER)]
    _check_options(options, papers)
    with open_hub(options.folder) as hub:
        if options.withdraw:
            return _withdraw(hub, options, options.withdraw)
        paths = [Path(source).expanduser() for source in options.sources if source not in papers]
        for path in paths:
            if not path.exists():
                raise UsageError(f"{path}: there is no such file or folder")
        runs = {path: find_runs(path) for path in paths}
        predictions = tuple(paths) if options.name else ()
        files = [path for path in paths if not runs[path] and path not in predictions]
        for path in files:
            if path.is_dir():
                raise UsageError(f"{path} is no run folder, and holds none")
        boards: list[ImportedBoard] = []
        if papers or files:
            boards = _import_numbers(hub, options, papers, files)
        found = [run for path in paths for run in runs[path]]
        found += [path for path in predictions if not runs[path]]
        imported, problems = _import_runs(hub, options, found) if found else ([], [])
    if options.dry_run:
        _say(options, "nothing is written (--dry-run)")
    if options.form != TABLE:
        print_document(_document(boards, imported, problems), options.form)
    return INCOMPLETE if problems else COMPLETE


def _say(options: Options, line: str) -> None:
    """Print a line; beside a format for programs, on standard error."""
    print_line(line, error=options.form != TABLE)


def _check_options(options: Options, papers: Sequence[str]) -> None:
    if options.withdraw and options.sources:
        raise UsageError("--withdraw takes numbers off boards: give no SOURCE with it")
    if not options.withdraw and not options.sources:
        raise UsageError("nothing to import: give a SOURCE, such as a table or paper:NAME")
    if len(options.sources) > len(papers) and not options.benchmark:
        raise UsageError("give --benchmark NAME: the board that SOURCE belongs to")


def _withdraw(hub: Hub, options: Options, source: str) -> int:
    from snellen_hub.reported_numbers.importing import withdraw_source

    with hub.database.writing() as session:
        count = withdraw_source(session, source, options.benchmark)
        if options.dry_run:
            session.rollback()
    done = f"{count:,} rows {'would be' if options.dry_run else 'are'} withdrawn"
    print_done(options.form, done, {"withdrawn": count})
    return COMPLETE


def _document(boards: Sequence[ImportedBoard], runs: Sequence[ImportedRun], problems: Sequence[str]) -> Document:
    from snellen.report.document import Column, Document, Table
    from snellen_hub.reported_numbers.importing import OUTCOMES

    counts = [Column(name, "count") for name in OUTCOMES]
    numbers: list[list[Any]] = [[each.board, *(each.rows.get(name, 0) for name in OUTCOMES)] for each in boards]
    columns = [Column(name) for name in _RUN_COLUMNS]
    rows = [[run.model, run.submission, run.state, str(run.path)] for run in runs]
    data = {
        "boards": [board._asdict() for board in boards],
        "runs": [dict(zip(_RUN_COLUMNS, row, strict=True)) for row in rows],
        "problems": problems,
    }
    tables = [Table("reported numbers", [Column("board"), *counts], numbers)] if boards else []
    tables += [Table("runs", columns, rows)] if runs else []
    return Document(tables, data=data)


def _import_numbers(hub: Hub, options: Options, papers: Sequence[str], files: Sequence[Path]) -> list[ImportedBoard]:
    from snellen_hub.accounts.access import find_owner
    from snellen_hub.reported_numbers.importing import import_tables

    boards = []
    with hub.database.writing() as session:
        account = find_owner(session, options.owner).id
        for tables in list(_tables(session, hub, options, papers, files)):
            done = import_tables(session, hub, tables, account)
            for warning in tables.warnings:
                _say(options, f"note: {warning}")
            for board in done:
                _say(options, board.describe())
                for change in board.changes[:_MOST_CHANGES]:
                    _say(options, f"  {change}")
            boards += done
        if options.dry_run:
            session.rollback()
    return boards


def _tables(
    session: Session, hub: Hub, options: Options, papers: Sequence[str], files: Sequence[Path]
) -> Iterator[ReportedTables]:
    """The tables of papers, then those of files."""
    from snellen_hub.reported_numbers.importing import headline_of, hosted_benchmark
    from snellen_hub.reported_numbers.numbers import make_source
    from snellen_hub.reported_numbers.papers import PAPERS, read_paper
    from snellen_hub.reported_numbers.table_file import map_columns, read_table_file

    facts = options.facts
    protocol = facts.get("protocol", "")
    names = dict.fromkeys(paper.removeprefix(_PAPER).lower() for paper in papers)
    for name in PAPERS if "all" in names else names:
        yield read_paper(name, protocol)
    if not files:
        return
    if not facts.get("source"):
        raise UsageError("give --facts source=TITLE: where these numbers are from, as readers see it")
    source = make_source(*(facts.get(name, "") for name in ("source", "url", "table", "note")))
    columns = map_columns(options.columns, facts.get("highest", 100.0))
    benchmark = hosted_benchmark(session, hub, options.benchmark or "")
    for path in files:
        yield read_table_file(
            path,
            board=benchmark.name,
            headline=headline_of(benchmark),
            columns=columns,
            source=source,
            other_protocol=protocol,
            limits=hub.config.submissions,
        )


def _import_runs(hub: Hub, options: Options, paths: Sequence[Path]) -> tuple[list[ImportedRun], list[str]]:
    """Submit runs, and with `publish` score and publish them; a sentence for each that could not
    be."""
    from snellen_hub.accounts.access import find_owner
    from snellen_hub.jobs.worker import Worker
    from snellen_hub.reported_numbers.importing import hosted_benchmark
    from snellen_hub.reported_numbers.runs import import_run, publish_runs

    with hub.database.writing() as session:
        account = find_owner(session, options.owner).id
        benchmark = hosted_benchmark(session, hub, options.benchmark or "")
        done = [
            import_run(session, hub, benchmark, path, account, options.name, options.allow_missing) for path in paths
        ]
        if options.dry_run:
            session.rollback()
    for run in done:
        _say(options, f"{run.model} ({run.submission}) {run.state}: {run.path}")
    if options.dry_run or not options.publish:
        return done, []
    Worker(hub, lambda line: _say(options, line)).work(until_empty=True)
    with hub.database.writing() as session:
        problems = publish_runs(session, [run.submission for run in done])
    for problem in problems:
        _say(options, problem)
    _say(options, f"{len(done) - len(problems):,} published")
    return done, problems
