"""`snellen hub phases`."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from snellen.cli.commands.hub import is_address
from snellen.cli.exit_codes import COMPLETE
from snellen.cli.printing import print_line


def add(parser: ArgumentParser) -> None:
    parser.add_argument(
        "folder", metavar="HUB",
        help="the hub's folder, or its address, with a token of a host in SNELLEN_HUB_TOKEN",
    )  # fmt: skip
    parser.add_argument("name", metavar="BENCHMARK", help="a benchmark of the hub")
    changes = parser.add_mutually_exclusive_group()
    changes.add_argument(
        "--phase", action="append", default=[], metavar="NAME,OPENS,CLOSES[,SUBMISSIONS][,final]",
        help="a phase, in the place of all earlier ones; times in UTC, such as 2027-03-01T12:00. "
        "At the end of a final phase a private part is revealed. Once for each phase",
    )  # fmt: skip
    changes.add_argument(
        "--no-phases", action="store_true", help="take submissions at any time again"
    )


def main(arguments: Namespace) -> int:
    """Print the phases of a competition, after setting others."""
    from msgspec import to_builtins

    from snellen.leaderboard_hub.accounts.audit import note_action
    from snellen.leaderboard_hub.client import HubClient
    from snellen.leaderboard_hub.hosting import find_hosted_benchmark
    from snellen.leaderboard_hub.hub import open_hub
    from snellen.leaderboard_hub.phases import (
        convert_phases,
        describe_phase,
        parse_phase,
        read_phases,
        set_phases,
    )

    phases = [parse_phase(text) for text in arguments.phase]
    is_change = bool(phases) or arguments.no_phases
    if is_address(arguments.folder):
        sent = to_builtins(phases) if is_change else None
        phases = convert_phases(HubClient(arguments.folder).phases(arguments.name, sent))
    else:
        with open_hub(arguments.folder) as hub, hub.database.writing() as session:
            row = find_hosted_benchmark(session, arguments.name, lock=is_change)
            if is_change:
                set_phases(session, row, phases)
                note_action(session, "phases", subject=row.name, phases=row.phases)
            phases = read_phases(row)
    for phase in phases:
        print_line(describe_phase(phase))
    if not phases:
        print_line(f"{arguments.name} has no phases: it takes submissions at any time")
    return COMPLETE
