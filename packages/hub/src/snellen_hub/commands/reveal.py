"""`snellen hub reveal`."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from snellen.cli.exit_codes import COMPLETE
from snellen.cli.flags import argument_type
from snellen.cli.printing import print_line
from snellen.core.errors import UsageError
from snellen_hub.commands import add_folder
from snellen_hub.moment_text import parse_moment


def add(parser: ArgumentParser) -> None:
    add_folder(parser)
    parser.add_argument("name", metavar="BENCHMARK", help="a benchmark whose answers are hidden")
    when = parser.add_mutually_exclusive_group()
    when.add_argument(
        "--date", type=argument_type(parse_moment), action="append", default=[], metavar="DATE",
        help="not now but then, in UTC, such as 2027-03-01 or 2027-03-01T12:00; a worker does it. "
        "Once for each private part that is left",
    )  # fmt: skip
    when.add_argument("--no-dates", action="store_true", help="forget the dates that were set")


def main(arguments: Namespace) -> int:
    """Reveal the next private part: it is scored exactly for one submission of each account, shown
    on the board, and counts as public from then on."""
    from snellen_hub.accounts.access import now
    from snellen_hub.accounts.audit import note_action
    from snellen_hub.hosting import find_hosted_benchmark
    from snellen_hub.hub import open_hub
    from snellen_hub.reveals import reveal_part, set_dates

    with open_hub(arguments.folder) as hub, hub.database.writing() as session:
        row = find_hosted_benchmark(session, arguments.name, lock=True)
        if row.phases:
            raise UsageError(
                f"the phases of {row.name} say when it is revealed; change them with: snellen hub "
                "phases"
            )
        if arguments.date or arguments.no_dates:
            set_dates(session, row, arguments.date)
            done = f"next reveals: {', '.join(row.reveals) or 'no date is set'}"
        else:
            revealed = reveal_part(session, row, now())
            done = (
                f"private part {revealed.part} is revealed; {revealed.finals:,} finals are scored, "
                f"and {revealed.queued:,} submissions again on the larger public part"
            )
        note_action(session, "reveal", subject=row.name, done=done)
    print_line(f"{arguments.name}: {done}")
    return COMPLETE
