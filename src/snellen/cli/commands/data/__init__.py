"""`snellen data pull|verify|check|info|convert|referring`."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from snellen.api.options import VARIANT_FLAGS
from snellen.cli.commands.data import referring
from snellen.cli.exit_codes import COMPLETE, INCOMPLETE, MISTAKE
from snellen.cli.flags import add_flag
from snellen.cli.lazy_parser import add_action
from snellen.cli.printing import print_json, print_line
from snellen.core.benchmark import DataTable, FetchProgress, Variant
from snellen.core.errors import DataError

if TYPE_CHECKING:
    from snellen.api.pull import PullStep


def add(parser: ArgumentParser) -> None:
    """Add the actions."""
    actions = parser.add_subparsers(title="actions", metavar="ACTION", required=True, dest="action")
    pull = add_action(actions, "pull", "fetch and index the data of benchmarks, several at once")
    pull.add_argument("benchmarks", nargs="+", metavar="BENCHMARK",
                      help="a name, e.g. scienceqa:split=val")  # fmt: skip
    for name, help in (
        ("verify", "open every picture and check ids and answers"),
        ("info", "show rows, columns, images and kinds of questions"),
    ):
        action = add_action(actions, name, help)
        action.add_argument("data", metavar="DATA", help="a data file, or a benchmark's name")
        action.add_argument("--json", action="store_true", help="print JSON")
        if name == "info":
            add_flag(action, VARIANT_FLAGS["columns"], {})
    check = add_action(
        actions, "check", "list everything wrong or doubtful in a data file, with row numbers"
    )
    check.add_argument(
        "data", metavar="DATA", help="a data file, its TOML description, or a benchmark's name"
    )
    add_flag(check, VARIANT_FLAGS["columns"], {})
    check.add_argument("--json", action="store_true", help="print JSON")
    convert = add_action(actions, "convert", "convert between TSV, JSONL and Parquet")
    convert.add_argument("data", metavar="DATA", help="a data file, or a benchmark's name")
    convert.add_argument(
        "target", metavar="FILE", help="the file to write; its extension determines the format"
    )

    add_action(actions, "referring", "give MMT-Bench's visual referring clean pictures and boxes",
               referring.add)  # fmt: skip


def main(arguments: Namespace) -> int:
    actions = {
        "pull": _pull,
        "verify": _verify,
        "check": _check,
        "info": _info,
        "convert": _convert,
        "referring": referring.main,
    }
    return actions[arguments.action](arguments)


def _pull(arguments: Namespace) -> int:
    """Print a line for each benchmark as soon as it is ready; a failure stops no other."""
    from snellen.api.pull import pull
    from snellen.report.format import plural

    failed = False
    with _progress_bars() as watch:
        for result in pull(arguments.benchmarks, watch):
            if result.problem:
                failed = True
                print_line(f"snellen: {result.problem}", error=True)
            else:
                print_line(f"{result.path}: {plural(result.rows, 'row')}", flush=True)
    return MISTAKE if failed else COMPLETE


def _verify(arguments: Namespace) -> int:
    """Open every image and check ids and answers, so that a run meets no surprise."""
    from snellen.data.tables.info import verify_images
    from snellen.data.tables.open_table import check_unique_ids
    from snellen.report.format import plural

    table = open_data(arguments.data)
    problems: list[str] = []
    for check in (check_unique_ids, _check_rows):
        try:
            check(table)
        except DataError as error:
            problems.append(str(error))
    media_check = verify_images(table)
    problems += [f"row {row.row} (id {row.id}): {row.problem}" for row in media_check.broken]
    if arguments.json:
        print_json({"rows": len(table), "pictures": media_check.pictures, "problems": problems})
    else:
        for problem in problems:
            print_line(problem)
        counts = (
            plural(len(table), "row"),
            plural(media_check.pictures, "picture"),
            plural(len(problems), "problem"),
        )
        print_line(f"{table.path}: {', '.join(counts)}")
    return INCOMPLETE if problems else COMPLETE


def _check(arguments: Namespace) -> int:
    """Print every issue of the user's own data that shows without a model."""
    from snellen.analysis.data_check import find_data_issues
    from snellen.benchmarks.declaration.registry import open_benchmark
    from snellen.report.format import plural

    variant = Variant(columns=arguments.columns or {})
    benchmark = open_benchmark(arguments.data, variant)
    table = benchmark.open()
    issues = find_data_issues(benchmark, table)
    if arguments.json:
        result = {"benchmark": benchmark.name, "rows": len(table), "findings": issues}
        print_json(result)
    else:
        for issue in issues:
            rows = ", ".join(map(str, issue.rows))
            where = f"row{'s' if len(issue.rows) > 1 else ''} {rows}: " if rows else ""
            print_line(f"{issue.check:<14} {where}{issue.message}")
        print_line(
            f"{arguments.data}: {plural(len(table), 'row')}, {plural(len(issues), 'finding')}"
        )
    return INCOMPLETE if issues else COMPLETE


def _info(arguments: Namespace) -> int:
    from snellen.benchmarks.declaration.rows import kind_of_rows
    from snellen.data.tables.info import table_info
    from snellen.data.tables.sound_and_tools import refuse_sound_and_tools
    from snellen.report.format import plural

    columns = arguments.columns or {}
    table = refuse_sound_and_tools(open_data(arguments.data, columns))
    info = table_info(table, kind_of_rows(table))
    if arguments.json:
        print_json(asdict(info))
        return COMPLETE
    print_line(f"{info.path}\n{plural(info.rows, 'row')}, SHA-256 {info.digest}")
    kinds = ", ".join(f"{count} {kind}" for kind, count in info.kinds.items())
    print_line(f"questions: {kinds}; {info.missing_answers} without answer")
    print_line(f"pictures: {info.pictures} ({info.distinct_pictures} distinct, "
          f"{info.picture_bytes:,} bytes, {info.lost_pictures} lost)")  # fmt: skip
    if info.duplicate_ids:
        print_line(f"ids held twice: {', '.join(info.duplicate_ids[:5])}")
    for column in info.columns:
        print_line(f"  {column.name:<20} {column.type:<8} {column.filled} filled")
    return COMPLETE


def _convert(arguments: Namespace) -> int:
    from snellen.data.tables.convert import convert_table
    from snellen.report.format import plural

    with progress_bar(arguments.target) as progress:
        rows = convert_table(open_data(arguments.data), Path(arguments.target), progress)
    print_line(f"{arguments.target}: {plural(rows, 'row')}")
    return COMPLETE


def _check_rows(table: DataTable) -> None:
    """Questions, options and answers as a run would read them."""
    from snellen.benchmarks.declaration.rows import rows_to_samples

    for _ in rows_to_samples(table, path=table.path):
        pass


def open_data(name: str, columns: Mapping[str, str] | None = None) -> DataTable:
    """The table of a data file, or of a benchmark by its name. Raises UsageError subclasses."""
    from snellen.benchmarks.declaration.registry import (
        is_data_source,
        is_description,
        open_benchmark,
    )
    from snellen.data.foreign.detect import is_foreign
    from snellen.data.predictions import read_predictions
    from snellen.data.tables.open_table import open_table

    if is_foreign(name) or name.lower().endswith(".xlsx"):
        return read_predictions(name, columns=columns).table()
    plain = is_data_source(name) and not is_description(name)
    if plain:
        return open_table(name, columns=columns)
    return open_benchmark(name, Variant(columns=columns or {})).open()


@contextmanager
def _progress_bars() -> Iterator[Callable[[PullStep], None]]:
    """Progress bars for several benchmarks at once: one for each that is fetched or prepared."""
    from rich.progress import Progress, TaskID

    from snellen.report.console import Terminal

    console = Terminal(stderr=True)
    lines: dict[tuple[str, str], TaskID] = {}
    with Progress(console=console, disable=not console.is_terminal, transient=True) as bars:

        def watch(step: PullStep) -> None:
            key = (step.name, step.phase)
            if key not in lines:
                lines[key] = bars.add_task(f"{step.name}: {step.phase}", total=step.total)
            bars.update(lines[key], completed=step.done, total=step.total)

        yield watch


@contextmanager
def progress_bar(what: str) -> Iterator[FetchProgress]:
    """A progress bar on standard error where that is a terminal; silence where it is not."""
    from rich.progress import Progress

    from snellen.report.console import Terminal

    console = Terminal(stderr=True)
    with Progress(console=console, disable=not console.is_terminal) as bars:
        task = bars.add_task(what, total=None)

        def progress(done: int, total: int | None) -> None:
            bars.update(task, completed=done, total=total)

        yield progress
