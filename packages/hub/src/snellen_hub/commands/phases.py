"""`snellen hub phases`."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING

from snellen.cli.exit_codes import COMPLETE
from snellen.cli.printing import print_line
from snellen_hub.commands import is_address

if TYPE_CHECKING:
    from snellen_hub.phase_text import Phase


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
    """Print the phases of a competition, after setting others. By an address nothing of a
    server is imported, as with `snellen submit`."""
    from snellen_hub.phase_text import describe_phase, parse_phase

    phases = [parse_phase(text) for text in arguments.phase]
    change = phases if phases or arguments.no_phases else None
    reach = _reach_server if is_address(arguments.folder) else _reach_folder
    phases = reach(arguments.folder, arguments.name, change)
    for phase in phases:
        print_line(describe_phase(phase))
    if not phases:
        print_line(f"{arguments.name} has no phases: it takes submissions at any time")
    return COMPLETE


def _reach_server(address: str, benchmark: str, change: list[Phase] | None) -> list[Phase]:
    """The phases of a benchmark of a hub elsewhere, after a change of them."""
    from msgspec import to_builtins

    from snellen.api.hub_client import HubClient
    from snellen_hub.phase_text import convert_phases

    sent = None if change is None else to_builtins(change)
    return convert_phases(HubClient(address).phases(benchmark, sent))


def _reach_folder(folder: str, benchmark: str, change: list[Phase] | None) -> list[Phase]:
    """The same of a hub that lies here."""
    from snellen_hub.accounts.audit import note_action
    from snellen_hub.hosting import find_hosted_benchmark
    from snellen_hub.hub import open_hub
    from snellen_hub.phases import read_phases, set_phases

    with open_hub(folder) as hub, hub.database.writing() as session:
        row = find_hosted_benchmark(session, benchmark, lock=change is not None)
        if change is not None:
            set_phases(session, row, change)
            note_action(session, "phases", subject=row.name, phases=row.phases)
        return read_phases(row)
