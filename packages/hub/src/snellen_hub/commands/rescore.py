"""`snellen hub rescore`."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from snellen.cli.exit_codes import COMPLETE
from snellen.cli.printing import print_line
from snellen_hub.commands import add_folder


def add(parser: ArgumentParser) -> None:
    add_folder(parser)
    parser.add_argument(
        "name", metavar="BENCHMARK", nargs="?", help="a benchmark (default: all of them)"
    )
    parser.add_argument(
        "--always", action="store_true",
        help="also if every score is by this version of Snellen already",
    )  # fmt: skip


def main(arguments: Namespace) -> int:
    """Queue the submissions whose scores are of another version of Snellen."""
    from sqlalchemy import select

    from snellen import __version__
    from snellen_hub.accounts.audit import note_action
    from snellen_hub.database.tables import HostedBenchmark
    from snellen_hub.hosting import find_hosted_benchmark, rescore
    from snellen_hub.hub import open_hub

    lines = []
    with open_hub(arguments.folder) as hub, hub.database.writing() as session:
        every = select(HostedBenchmark).order_by(HostedBenchmark.name)
        named = [find_hosted_benchmark(session, arguments.name)] if arguments.name else None
        for row in named or session.scalars(every):
            count = rescore(session, row, always=arguments.always)
            done = f"version {row.version}; {count:,} submissions are scored again"
            if not count:
                done = f"no score is of another version of Snellen than {__version__}"
            note_action(session, "rescore", subject=row.name, done=done)
            lines.append(f"{row.name}: {done}")
    for line in lines or ["the hub holds no benchmarks"]:
        print_line(line)
    return COMPLETE
