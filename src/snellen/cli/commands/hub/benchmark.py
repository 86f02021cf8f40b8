"""`snellen hub benchmark`."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from pathlib import Path

from snellen.api.flags import parse_pairs
from snellen.cli.commands.hub import add_folder
from snellen.cli.exit_codes import COMPLETE
from snellen.cli.flags import argument_type
from snellen.cli.printing import print_line
from snellen.core.errors import UsageError


def add(parser: ArgumentParser) -> None:
    """Declare the arguments of `snellen hub benchmark`."""
    add_folder(parser)
    parser.add_argument("name", metavar="NAME", help="its name in addresses, such as signs")
    data = parser.add_mutually_exclusive_group(required=True)
    data.add_argument("--data", metavar="FILE", help="the complete data file")
    data.add_argument(
        "--no-data", action="store_true",
        help="hold a board of reported numbers only; --replace adds data later",
    )  # fmt: skip
    parser.add_argument("--title", default="", metavar="TEXT", help="its title (default: NAME)")
    parser.add_argument("--description", default="", metavar="TEXT", help="a sentence about it")
    parser.add_argument(
        "--spec", default="", metavar="BENCHMARK",
        help="the benchmark of Snellen that FILE holds the data of, such as mmbench:split=test",
    )  # fmt: skip
    parser.add_argument("--hidden", action="store_true", help="keep the answers hidden")
    parser.add_argument(
        "--public", metavar="FILE", help="with --hidden: the data without answers, for download"
    )
    parser.add_argument("--rule", metavar="RULE", help="whose rules parse the replies")
    parser.add_argument(
        "--columns", type=argument_type(parse_pairs), default={}, metavar="ROLE=NAME,...",
        help="names of the columns, e.g. question=text,gold=label",
    )  # fmt: skip
    parser.add_argument(
        "--replace", action="store_true",
        help="replace the data of a benchmark that exists, and score every submission again",
    )  # fmt: skip


def main(arguments: Namespace) -> int:
    """Add a benchmark, or replace its data."""
    from sqlalchemy import select

    from snellen.leaderboard_hub.accounts.audit import note_action
    from snellen.leaderboard_hub.database.tables import HostedBenchmark
    from snellen.leaderboard_hub.hosting import (
        NewBenchmark,
        Protocol,
        add_benchmark,
        replace_data,
    )
    from snellen.leaderboard_hub.hub import open_hub

    data = Path(arguments.data) if arguments.data else None
    public = Path(arguments.public) if arguments.public else None
    for path in filter(None, (data, public)):
        if not path.is_file():
            raise UsageError(f"{path}: there is no such file")
    new = NewBenchmark(
        name=arguments.name, title=arguments.title or arguments.name, data=data,
        description=arguments.description, spec=arguments.spec, is_hidden=arguments.hidden,
        protocol=Protocol(rule=arguments.rule, columns=arguments.columns), public_data=public,
    )  # fmt: skip
    hub = open_hub(arguments.folder)
    with hub.database.writing() as session:
        if arguments.replace:
            row = session.scalar(
                select(HostedBenchmark).where(HostedBenchmark.name == arguments.name)
            )
            if row is None:
                raise UsageError(f"the hub has no benchmark called {arguments.name}")
            if data is None:
                raise UsageError("--replace needs --data FILE: data cannot be taken away")
            if row.has_data and row.is_hidden != arguments.hidden:
                raise UsageError(
                    f"the answers of {arguments.name} are {'' if row.is_hidden else 'not '}hidden, "
                    f"and stay so: {'add' if row.is_hidden else 'leave out'} --hidden"
                )
            count = replace_data(session, hub.storage, row, new)
            done = f"version {row.version}; {count:,} submissions are scored again"
        else:
            row = add_benchmark(session, hub.storage, new)
            done = f"{row.rows:,} items" if row.has_data else "a board of reported numbers"
        note_action(session, "benchmark", subject=arguments.name, done=done)
    hub.close()
    print_line(f"{arguments.name}: {done}")
    return COMPLETE
