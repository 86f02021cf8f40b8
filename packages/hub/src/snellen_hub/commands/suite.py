"""`snellen hub suite`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from snellen.api.flags import argument, option, parse_pairs
from snellen.cli.output import print_line
from snellen.core.errors import COMPLETE, UsageError
from snellen_hub.commands import REPLACE, hub_folder

if TYPE_CHECKING:
    from snellen_hub.boards.suite_members import MemberColumn


@dataclass(frozen=True, kw_only=True)
class Options:
    """What `snellen hub suite` takes."""

    folder: str = hub_folder()
    name: str = argument("NAME", "its name in addresses, such as openvlm")
    members: str | None = option(
        None,
        "--members",
        "its benchmarks in the order of the columns, e.g. mmstar,ocrbench=2,mme:perception",
        metavar="BENCHMARK[:METRIC][=WEIGHT],...",
    )
    scales: Mapping[str, str] = option(
        {},
        "--scales",
        "what numbers are multiplied by to run from 0 to 100, e.g. ocrbench=0.1 (default: 100 "
        "divided by the highest value that the scores declare)",
        metavar="BENCHMARK=NUMBER,...",
        parse=parse_pairs,
    )
    title: str = option("", "--title")
    """Empty: its name."""
    description: str = option("", "--description")
    replace: bool = option(False, "--replace", REPLACE, is_switch=True)
    delete: bool = option(False, "--delete", "delete what is named; its benchmarks stay", is_switch=True)


def main(options: Options) -> int:
    """Add, change or delete a suite."""
    from snellen_hub.accounts.audit import note_action
    from snellen_hub.boards.suite_members import NewSuite, change_suite, create_suite, delete_suite, find_hosted_suite
    from snellen_hub.hub import open_hub

    members = _parse_members(options.members or "", options.scales)
    if options.delete == bool(members):
        raise UsageError("hub suite needs either --members BENCHMARK,... or --delete")
    new = NewSuite(name=options.name, members=members, title=options.title, description=options.description)
    with open_hub(options.folder) as hub, hub.database.writing() as session:
        row = find_hosted_suite(session, options.name)
        if not (options.delete or options.replace):
            create_suite(session, new)
        elif row is None:
            raise UsageError(f"the hub has no suite called {options.name}")
        elif options.delete:
            delete_suite(session, row)
        else:
            change_suite(session, row, new)
        done = "deleted" if options.delete else f"{len(members)} benchmarks"
        note_action(session, "suite", subject=options.name, done=done)
    print_line(f"{options.name}: {done}")
    return COMPLETE


def _parse_members(text: str, scales: Mapping[str, str]) -> tuple[MemberColumn, ...]:
    """Read `BENCHMARK[:METRIC][=WEIGHT],...` and the scales. Raises UsageError."""
    from snellen_hub.boards.suite_members import MemberColumn

    members = []
    for part in filter(None, (part.strip() for part in text.split(","))):
        name, equals, weight = part.partition("=")
        benchmark, _, metric = name.partition(":")
        scale = scales.get(benchmark)
        members.append(
            MemberColumn(
                benchmark,
                _parse_number(weight, "--members", part) if equals else 1.0,
                None if scale is None else _parse_number(scale, "--scales", benchmark),
                metric,
            )
        )
    unknown = sorted(scales.keys() - {member.benchmark for member in members})
    if unknown:
        raise UsageError(f"--scales names {unknown[0]}, which is not among the members")
    return tuple(members)


def _parse_number(text: str, flag: str, part: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise UsageError(f"{flag} {part}: {text!r} is no number") from None
