"""`snellen hub phases`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from snellen.api.flags import argument, option
from snellen.cli.output import FormatOptions, print_document
from snellen.core.errors import COMPLETE, UsageError
from snellen_hub.commands import check_folder, is_address, print_done

if TYPE_CHECKING:
    from snellen_hub.phase_text import Phase

NOW, NONE = "now", "none"


@dataclass(frozen=True, kw_only=True)
class Options(FormatOptions):
    """What `snellen hub phases` takes."""

    hub: str = argument("HUB", "the hub's folder, or its address, with a token of a host in SNELLEN_HUB_TOKEN")
    name: str = argument("BENCHMARK", "a benchmark of the hub")
    phases: Sequence[str] = option(
        (),
        "--phase",
        "a phase, in the place of all earlier ones; times in UTC, such as 2027-03-01T12:00. At the "
        "end of a final phase a private part is revealed. Once for each phase; `none`: submissions "
        "are taken at any time again",
        metavar="NAME,OPENS,CLOSES[,SUBMISSIONS][,final]",
        is_repeatable=True,
    )
    reveals: Sequence[str] = option(
        (),
        "--reveal",
        "score the next private part of a hidden benchmark without phases: `now`, or on a date, in "
        "UTC, such as 2027-03-01T12:00; a worker does it. Once for each part that is left; `none` "
        "forgets the dates",
        metavar="now|DATE|none",
        is_repeatable=True,
    )


def main(options: Options) -> int:
    """Print the phases of a competition, after setting others; or reveal a private part. By an
    address nothing of a server is imported, as with `snellen submit`."""
    from snellen.report.document import Document, Line
    from snellen_hub.phase_text import describe_phase, parse_phase

    if options.reveals:
        if options.phases:
            raise UsageError("--phase and --reveal: phases say when a benchmark is revealed")
        done = _reveal(check_folder(options.hub), options.name, options.reveals)
        print_done(options.form, f"{options.name}: {done}", {"done": done})
        return COMPLETE
    phases = [] if _is_none(options.phases) else [parse_phase(text) for text in options.phases]
    reach = _reach_server if is_address(options.hub) else _reach_folder
    phases = reach(options.hub, options.name, phases if options.phases else None)
    lines = [describe_phase(phase) for phase in phases]
    none = f"{options.name} has no phases: it takes submissions at any time"
    blocks = [Line(line, is_unbroken=True) for line in lines or [none]]
    print_document(Document(blocks, data=phases), options.form)
    return COMPLETE


def _is_none(texts: Sequence[str]) -> bool:
    return list(texts) == [NONE]


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


def _reveal(folder: str, benchmark: str, texts: Sequence[str]) -> str:
    """Reveal the next private part, or set when; returns what was done. It is scored exactly for
    one submission of each account, shown on the board, and counts as public from then on."""
    from snellen_hub.accounts.audit import note_action
    from snellen_hub.hosting import find_hosted_benchmark
    from snellen_hub.hub import open_hub
    from snellen_hub.moment_text import now, parse_moment
    from snellen_hub.reveals import reveal_part, set_dates

    is_now = list(texts) == [NOW]
    dates = [] if is_now or _is_none(texts) else [parse_moment(text) for text in texts]
    with open_hub(folder) as hub, hub.database.writing() as session:
        row = find_hosted_benchmark(session, benchmark, lock=True)
        if row.phases:
            raise UsageError(f"the phases of {row.name} say when it is revealed; change them with --phase")
        if is_now:
            revealed = reveal_part(session, row, now())
            done = (
                f"private part {revealed.part} is revealed; {revealed.finals:,} finals are scored, "
                f"and {revealed.queued:,} submissions again on the larger public part"
            )
        else:
            set_dates(session, row, dates)
            done = f"next reveals: {', '.join(row.reveals) or 'no date is set'}"
        note_action(session, "reveal", subject=row.name, done=done)
    return done
