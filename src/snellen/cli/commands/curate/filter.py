"""`snellen curate filter`."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from contextlib import nullcontext
from pathlib import Path

from snellen.cli.exit_codes import COMPLETE, INCOMPLETE
from snellen.cli.flags import RUNS, add_format, add_json, add_options, read_options
from snellen.cli.printing import (
    TABLE,
    download_printer,
    exit_interrupted,
    line_printer,
    print_line,
    print_next,
    print_result,
)
from snellen.core.errors import UsageError
from snellen.curate.filter.options import FilterOptions


def add(parser: ArgumentParser) -> None:
    """Declare the arguments of `snellen curate filter`."""
    parser.add_argument(
        "data", metavar="DATA", help="a benchmark, a data file, or a data set folder of a step"
    )
    parser.add_argument("--out", required=True, metavar="DIR", help="folder for the result")
    parser.add_argument(
        "--text-only", nargs="+", action="extend", default=[], metavar="MODEL",
        help="models that are asked without the pictures",
    )  # fmt: skip
    parser.add_argument(
        "--vision", nargs="+", action="extend", default=[], metavar="MODEL",
        help="models that are asked with the pictures",
    )  # fmt: skip
    parser.add_argument(
        "--runs", nargs="+", action="extend", default=[], metavar="RUN",
        help=f"{RUNS}, which are not asked again; run.json says which were made without pictures",
    )  # fmt: skip
    parser.add_argument(
        "--rule", action="append", default=[], metavar="RULE",
        help="what flags an item: text-majority[:SHARE], text-more-than[:COUNT], text-all or "
        "vision-none[:COUNT]; repeat for several (default: text-majority and vision-none)",
    )  # fmt: skip
    parser.add_argument(
        "--min-replies", type=int, metavar="N",
        help="judge an item by the models that replied if they are at least N (default: only if "
        "the others could change nothing)",
    )  # fmt: skip
    parser.add_argument(
        "--single", action="store_true",
        help="judge each yes/no question by itself, not both of a pair together",
    )  # fmt: skip
    parser.add_argument(
        "--drop", action="store_true", help="drop flagged items, without a person's look at them"
    )
    parser.add_argument(
        "--brief", action="store_true",
        help="leave the replies out of the decisions about items that no rule flags",
    )  # fmt: skip
    parser.add_argument(
        "--by", action="append", default=[], metavar="COLUMN",
        help="report shares by this column; repeat for several (default: the groups of the data "
        "and their source)",
    )  # fmt: skip
    add_options(parser, FilterOptions)
    parser.add_argument("--top", type=int, default=20, metavar="N",
                        help="rows of each table of shares (default: 20)")  # fmt: skip
    parser.add_argument("-q", "--quiet", action="store_true", help="show no progress")
    add_format(parser, "json", "markdown")
    add_json(parser)


def main(arguments: Namespace) -> int:
    """Ask the models, or read their runs, and write which items they flag."""
    from snellen.curate.filter.filtering import FilterRules, filter_items
    from snellen.curate.filter.model_runs import Reports
    from snellen.curate.filter.tables import filter_report
    from snellen.curate.step_report import print_report, report_markdown, to_json
    from snellen.engine.loop.progress import NoProgress
    from snellen.engine.loop.run import RunInterrupted
    from snellen.report.console import Terminal
    from snellen.report.terminal.progress import show_progress

    if arguments.top < 1:
        raise UsageError(f"--top is {arguments.top}; expected at least 1")
    console = Terminal(stderr=True)
    say = line_printer(console)
    try:
        with nullcontext(NoProgress()) if arguments.quiet else show_progress(console) as progress:
            result = filter_items(
                arguments.data,
                arguments.out,
                text_only=arguments.text_only,
                vision=arguments.vision,
                runs=arguments.runs,
                rules=FilterRules(
                    rules=tuple(arguments.rule),
                    min_replies=arguments.min_replies,
                    pairs=not arguments.single,
                    drop=arguments.drop,
                    brief=arguments.brief,
                    by=tuple(arguments.by),
                ),
                options=read_options(arguments, FilterOptions),
                reports=Reports(progress, say, download_printer(console), arguments.command_line),
            )
    except (RunInterrupted, KeyboardInterrupt):
        exit_interrupted(Path(arguments.out), console, arguments.command_line)
    form = "json" if arguments.json else arguments.format
    print_result(
        form,
        result,
        lambda found, console: print_report(filter_report(found, arguments.top), console),
        {
            "json": to_json,
            "markdown": lambda found: report_markdown(filter_report(found, arguments.top)),
        },
    )
    if result.undecided:
        if arguments.text_only or arguments.vision:
            print_line(f"ask again for what is missing: {arguments.command_line}", error=True)
        else:
            print_line(
                "finish the runs that lack replies, or judge by those that are there: "
                f"--min-replies N, {result.undecided} undecided",
                error=True,
            )
        return INCOMPLETE
    if form == TABLE and (result.flagged or result.problems):
        print_next(
            arguments, "curate", "review", result.folder, "--out", f"{result.folder}-reviewed"
        )
    return COMPLETE
