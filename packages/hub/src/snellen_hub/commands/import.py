"""`snellen hub import`."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import TYPE_CHECKING

from snellen.api.flags import parse_pairs
from snellen.cli.exit_codes import COMPLETE, INCOMPLETE
from snellen.cli.flags import argument_type
from snellen.cli.printing import print_line
from snellen.core.errors import UsageError
from snellen_hub.commands import add_folder

if TYPE_CHECKING:
    from sqlalchemy.orm import Session

    from snellen_hub.hub import Hub
    from snellen_hub.reported_numbers.numbers import ReportedTables


def add(parser: ArgumentParser) -> None:
    """Declare the arguments of `snellen hub import`."""
    add_folder(parser)
    parser.add_argument(
        "sources", nargs="*", metavar="SOURCE",
        help="a table of reported numbers, a run folder or a folder of them, or with --model a "
        "file of predictions",
    )  # fmt: skip
    parser.add_argument(
        "--paper", action="append", default=[], metavar="NAME",
        help="import the tables of a paper: mme, mmbench, mmt, seed, vlmevalkit or all; repeat for "
        "several",
    )  # fmt: skip
    parser.add_argument("--benchmark", metavar="NAME", help="the board that SOURCE belongs to")
    parser.add_argument("--model", metavar="NAME", help="the model of a file of predictions")
    parser.add_argument(
        "--allow-missing", action="store_true",
        help="with --model: questions without a reply count as wrong (default: the file is "
        "refused)",
    )  # fmt: skip
    parser.add_argument(
        "--publish", action="store_true",
        help="with runs: score what waits here and now, and publish them",
    )  # fmt: skip
    parser.add_argument(
        "--account", metavar="NAME", help="the owner who imports (default: the first owner)"
    )
    parser.add_argument(
        "--dry-run", action="store_true", help="say what would change; write nothing"
    )
    parser.add_argument(
        "--withdraw", metavar="SOURCE",
        help="take the reported numbers of a source off the boards: its title, or how it begins",
    )  # fmt: skip
    table = parser.add_argument_group("a table of reported numbers")
    table.add_argument(
        "--model-column", default="model", metavar="COLUMN",
        help="the column with the names of the models (default: model)",
    )  # fmt: skip
    table.add_argument(
        "--score-columns", action="append", default=[], metavar="COLUMN,...",
        help="the columns with numbers, the headline first; METRIC=COLUMN names a metric, "
        "GROUP/LABEL=COLUMN a group (default: score)",
    )  # fmt: skip
    table.add_argument(
        "--samples-column", default="", metavar="COLUMN",
        help="the column with the number of samples, from which intervals follow",
    )  # fmt: skip
    table.add_argument(
        "--fact-columns", type=argument_type(parse_pairs), default={}, metavar="FACT=COLUMN,...",
        help="columns about the model: parameters, weights, released, organisation, link, notes",
    )  # fmt: skip
    table.add_argument(
        "--top", type=float, default=100.0, metavar="NUMBER",
        help="the highest value a score can have (default: 100); 1 for shares",
    )  # fmt: skip
    table.add_argument("--source", default="", metavar="TITLE", help="where the numbers are from")
    table.add_argument("--url", default="", metavar="URL", help="address of the source")
    table.add_argument("--table", default="", metavar="TEXT", help="which table of the source")
    table.add_argument("--note", default="", metavar="TEXT", help="what readers must know of it")
    table.add_argument(
        "--other-protocol", default="", metavar="TEXT",
        help="how the numbers were made, if otherwise than the benchmark's protocol says",
    )  # fmt: skip


def main(arguments: Namespace) -> int:
    """Import, or withdraw what was imported."""
    from snellen_hub.hub import open_hub
    from snellen_hub.reported_numbers.runs import find_runs

    _check_arguments(arguments)
    with open_hub(arguments.folder) as hub:
        if arguments.withdraw:
            return _withdraw(hub, arguments)
        paths = [Path(source).expanduser() for source in arguments.sources]
        for path in paths:
            if not path.exists():
                raise UsageError(f"{path}: there is no such file or folder")
        runs = {path: find_runs(path) for path in paths}
        predictions = tuple(paths) if arguments.model else ()
        files = [path for path in paths if not runs[path] and path not in predictions]
        for path in files:
            if path.is_dir():
                raise UsageError(f"{path} is no run folder, and holds none")
        if arguments.paper or files:
            _import_numbers(hub, arguments, files)
        found = [run for path in paths for run in runs[path]]
        found += [path for path in predictions if not runs[path]]
        return _import_runs(hub, arguments, found) if found else COMPLETE


def _check_arguments(arguments: Namespace) -> None:
    if arguments.withdraw:
        if arguments.sources or arguments.paper:
            raise UsageError(
                "--withdraw takes numbers off boards: give no SOURCE or --paper with it"
            )
        return
    if not arguments.sources and not arguments.paper:
        raise UsageError("nothing to import: give a SOURCE, or --paper NAME")
    if arguments.sources and not arguments.benchmark:
        raise UsageError("give --benchmark NAME: the board that SOURCE belongs to")


def _withdraw(hub: Hub, arguments: Namespace) -> int:
    from snellen_hub.reported_numbers.importing import withdraw_source

    with hub.database.writing() as session:
        count = withdraw_source(session, arguments.withdraw, arguments.benchmark)
        if arguments.dry_run:
            session.rollback()
    print_line(f"{count:,} rows {'would be' if arguments.dry_run else 'are'} withdrawn")
    return COMPLETE


def _import_numbers(hub: Hub, arguments: Namespace, files: list[Path]) -> None:
    from snellen_hub.reported_numbers.importing import import_tables

    with hub.database.writing() as session:
        account = _owner(session, arguments.account)
        imports = [*_papers(arguments), *_files(session, hub, arguments, files)]
        for tables in imports:
            done = import_tables(session, hub, tables, account)
            for warning in tables.warnings:
                print_line(f"note: {warning}")
            for board in done:
                print_line(board.describe())
                for change in board.changes[:20]:
                    print_line(f"  {change}")
        if arguments.dry_run:
            session.rollback()
    if arguments.dry_run:
        print_line("nothing is written (--dry-run)")


def _papers(arguments: Namespace) -> list[ReportedTables]:
    from snellen_hub.reported_numbers.papers import PAPERS, read_paper

    names = dict.fromkeys(name.lower() for name in arguments.paper)
    chosen = PAPERS if "all" in names else names
    return [read_paper(name, arguments.other_protocol) for name in chosen]


def _files(
    session: Session, hub: Hub, arguments: Namespace, files: list[Path]
) -> list[ReportedTables]:
    if not files:
        return []
    from snellen_hub.reported_numbers.importing import headline_of, hosted_benchmark
    from snellen_hub.reported_numbers.numbers import make_source
    from snellen_hub.reported_numbers.table_file import (
        ColumnMap,
        parse_score_columns,
        read_table_file,
    )

    if not arguments.source:
        raise UsageError("give --source TITLE: where these numbers are from, as readers see it")
    source = make_source(arguments.source, arguments.url, arguments.table, arguments.note)
    columns = ColumnMap(
        scores=parse_score_columns(arguments.score_columns or ["score"]),
        model=arguments.model_column,
        samples=arguments.samples_column,
        facts=arguments.fact_columns,
        top=arguments.top,
    )
    benchmark = hosted_benchmark(session, hub, arguments.benchmark)
    return [
        read_table_file(
            path, board=benchmark.name, headline=headline_of(benchmark), columns=columns,
            source=source, other_protocol=arguments.other_protocol,
            limits=hub.config.submissions,
        )
        for path in files
    ]  # fmt: skip


def _import_runs(hub: Hub, arguments: Namespace, paths: list[Path]) -> int:
    from snellen_hub.jobs.worker import Worker
    from snellen_hub.reported_numbers.importing import hosted_benchmark
    from snellen_hub.reported_numbers.runs import import_run, publish_runs

    with hub.database.writing() as session:
        account = _owner(session, arguments.account)
        benchmark = hosted_benchmark(session, hub, arguments.benchmark)
        done = [
            import_run(
                session, hub, benchmark, path, account, arguments.model,
                allow_missing=arguments.allow_missing,
            )
            for path in paths
        ]  # fmt: skip
        if arguments.dry_run:
            session.rollback()
    for run in done:
        state = "waits to be scored" if run.is_new else "is there already"
        print_line(f"{run.model} ({run.submission}) {state}: {run.path}")
    if arguments.dry_run:
        print_line("nothing is written (--dry-run)")
        return COMPLETE
    if not arguments.publish:
        return COMPLETE
    Worker(hub, print_line).work(until_empty=True)
    with hub.database.writing() as session:
        problems = publish_runs(session, [run.submission for run in done])
    for problem in problems:
        print_line(problem)
    print_line(f"{len(done) - len(problems):,} published")
    return INCOMPLETE if problems else COMPLETE


def _owner(session: Session, name: str | None) -> int:
    """The account that imports."""
    from sqlalchemy import select

    from snellen_hub.database.tables import Account

    owners = session.scalars(
        select(Account)
        .where(Account.role == "owner", Account.disabled.is_(None))
        .order_by(Account.id)
    ).all()
    chosen = [owner for owner in owners if name is None or owner.name == name]
    if not chosen:
        who = f"no owner called {name}" if name else "no owner"
        raise UsageError(f"this hub has {who}; add one with: snellen hub account HUB NAME --role "
                         "owner")  # fmt: skip
    return chosen[0].id
