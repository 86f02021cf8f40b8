"""`snellen hub suite`."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING

from snellen.api.flags import parse_pairs
from snellen.cli.exit_codes import COMPLETE
from snellen.cli.flags import argument_type
from snellen.cli.printing import print_line
from snellen.core.errors import UsageError
from snellen_hub.commands import add_folder

if TYPE_CHECKING:
    from snellen_hub.boards.suite_members import MemberColumn


def add(parser: ArgumentParser) -> None:
    """Declare the arguments of `snellen hub suite`."""
    add_folder(parser)
    parser.add_argument("name", metavar="NAME", help="its name in addresses, such as openvlm")
    parser.add_argument(
        "--members", metavar="BENCHMARK[:METRIC][=WEIGHT],...",
        help="its benchmarks in the order of the columns, e.g. mmstar,ocrbench=2,mme:perception",
    )  # fmt: skip
    parser.add_argument(
        "--scales", type=argument_type(parse_pairs), default={}, metavar="BENCHMARK=NUMBER,...",
        help="what numbers are multiplied by to run from 0 to 100, e.g. ocrbench=0.1 (default: 100 "
        "divided by the highest value that the scores declare)",
    )  # fmt: skip
    parser.add_argument("--title", default="", metavar="TEXT", help="its title (default: NAME)")
    parser.add_argument("--description", default="", metavar="TEXT", help="a sentence about it")
    parser.add_argument("--replace", action="store_true", help="change a suite that exists")
    parser.add_argument("--delete", action="store_true", help="delete it; its benchmarks stay")


def main(arguments: Namespace) -> int:
    """Add, change or delete a suite."""
    from snellen_hub.accounts.audit import note_action
    from snellen_hub.boards.suite_members import (
        NewSuite,
        change_suite,
        create_suite,
        delete_suite,
        find_hosted_suite,
    )
    from snellen_hub.hub import open_hub

    if arguments.delete == bool(arguments.members):
        raise UsageError("hub suite needs either --members BENCHMARK,... or --delete")
    with open_hub(arguments.folder) as hub, hub.database.writing() as session:
        row = find_hosted_suite(session, arguments.name)
        if row is None and (arguments.delete or arguments.replace):
            raise UsageError(f"the hub has no suite called {arguments.name}")
        if arguments.delete:
            assert row is not None
            delete_suite(session, row)
            done = "deleted"
        else:
            members = _parse_members(arguments.members, arguments.scales)
            new = NewSuite(name=arguments.name, members=members, title=arguments.title,
                           description=arguments.description)  # fmt: skip
            if arguments.replace:
                assert row is not None
                change_suite(session, row, new)
            else:
                create_suite(session, new)
            done = f"{len(members)} benchmarks"
        note_action(session, "suite", subject=arguments.name, done=done)
    print_line(f"{arguments.name}: {done}")
    return COMPLETE


def _parse_members(text: str, scales: dict[str, str]) -> tuple[MemberColumn, ...]:
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
