"""`snellen hub benchmark`."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import TYPE_CHECKING

from snellen.api.flags import parse_pairs
from snellen.cli.exit_codes import COMPLETE
from snellen.cli.flags import argument_type, whole_number
from snellen.cli.printing import print_line
from snellen.core.errors import UsageError
from snellen_hub.commands import add_folder
from snellen_hub.config import PUBLIC_SHARE

if TYPE_CHECKING:
    from sqlalchemy.orm import Session

    from snellen_hub.benchmark_data import NewBenchmark, StoredData
    from snellen_hub.database.tables import HostedBenchmark
    from snellen_hub.hub import Hub
    from snellen_hub.samples.flags import FlaggedItem


def add(parser: ArgumentParser) -> None:
    """Declare the arguments of `snellen hub benchmark`."""
    add_folder(parser)
    parser.add_argument("name", metavar="NAME", help="its name in addresses, such as signs")
    data = parser.add_mutually_exclusive_group(required=True)
    data.add_argument(
        "--data", metavar="DATA",
        help="the complete data: a file, or a data set folder of snellen curate with its pictures",
    )  # fmt: skip
    data.add_argument(
        "--no-data", action="store_true",
        help="hold a board of reported numbers only; --replace adds data later",
    )  # fmt: skip
    parser.add_argument("--title", default="", metavar="TEXT", help="its title (default: NAME)")
    parser.add_argument("--description", default="", metavar="TEXT", help="a sentence about it")
    parser.add_argument(
        "--spec", metavar="BENCHMARK",
        help="the benchmark of Snellen that DATA holds the data of, such as mmbench:split=test "
        "(default: none; for the first data of a board without data, that of the board)",
    )  # fmt: skip
    parser.add_argument("--hidden", action="store_true", help="keep the answers hidden")
    parser.add_argument(
        "--public-share", type=argument_type(_parse_share), default=PUBLIC_SHARE, metavar="SHARE",
        help="with --hidden: the share of questions whose scores are shown at once; the others "
        f"are scored at a reveal (default: {PUBLIC_SHARE:g})",
    )  # fmt: skip
    parser.add_argument(
        "--private-parts", type=whole_number(1, 100), default=1, metavar="N",
        help="with --hidden: parts of the private questions, each for a reveal (default: 1)",
    )  # fmt: skip
    parser.add_argument(
        "--public", metavar="DATA", help="with --hidden: the data without answers, for download"
    )
    parser.add_argument(
        "--answers", metavar="FILE",
        help="answers that snellen curate publish kept back (answers.sealed); DATA are then the "
            "publication or its file of questions, and the answers are hidden",
    )  # fmt: skip
    parser.add_argument(
        "--seal-key", metavar="FILE",
        help="the key of --answers (default: that of SNELLEN_SEAL_KEY)",
    )  # fmt: skip
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
    from msgspec import structs

    from snellen_hub.benchmark_data import store_data
    from snellen_hub.hub import open_hub

    new = _new_benchmark(arguments)
    is_hidden = new.is_hidden or new.answers is not None
    with open_hub(arguments.folder) as hub:
        with hub.database.reading() as session:
            held = _check(session, new.name, is_hidden=is_hidden, replace=arguments.replace)
        if held is not None and not held.has_data and arguments.spec is None:
            new = structs.replace(new, spec=held.spec)
        # Data may be large: they are stored before the database waits for anything.
        stored = store_data(hub.storage, new, held)
        with hub.database.writing() as session:
            row = _check(session, new.name, is_hidden=is_hidden, replace=arguments.replace)
            done = _write(session, hub, row, new, stored)
    print_line(f"{arguments.name}: {done}")
    if stored.media.unreadable:
        print_line(f"{stored.media.unreadable:,} pictures or videos could not be read", error=True)
    return COMPLETE


def _new_benchmark(arguments: Namespace) -> NewBenchmark:
    """What the command names. Raises UsageError."""
    from snellen_hub.benchmark_data import NewBenchmark, Protocol

    named = (arguments.data, arguments.public, arguments.answers, arguments.seal_key)
    data, public, answers, seal_key = (Path(each) if each else None for each in named)
    for path in filter(None, (data, public, answers, seal_key)):
        if not path.exists():
            raise UsageError(f"{path}: there is no such file")
    if seal_key is not None and answers is None:
        raise UsageError("--seal-key is the key of --answers, which is not given")
    if data is None and arguments.replace:
        raise UsageError("--replace needs --data DATA: data cannot be taken away")
    return NewBenchmark(
        name=arguments.name, title=arguments.title or arguments.name, data=data,
        description=arguments.description, spec=arguments.spec or "", is_hidden=arguments.hidden,
        protocol=Protocol(rule=arguments.rule, columns=arguments.columns), public_data=public,
        answers=answers, seal_key=seal_key, public_share=arguments.public_share,
        private_parts=arguments.private_parts,
    )  # fmt: skip


def _check(
    session: Session, name: str, *, is_hidden: bool, replace: bool
) -> HostedBenchmark | None:
    """The benchmark whose data are replaced; None for a new one. Raises UsageError."""
    from snellen_hub.hosting import check_benchmark_name, find_hosted_benchmark

    if not replace:
        check_benchmark_name(session, name)
        return None
    row = find_hosted_benchmark(session, name)
    if row.has_data and row.is_hidden != is_hidden:
        raise UsageError(
            f"the answers of {name} are {'' if row.is_hidden else 'not '}hidden, and stay so: "
            f"{'add' if row.is_hidden else 'leave out'} --hidden"
        )
    return row


def _write(
    session: Session,
    hub: Hub,
    row: HostedBenchmark | None,
    new: NewBenchmark,
    stored: StoredData,
) -> str:
    """Add or replace; returns what was done."""
    from snellen_hub.accounts.audit import note_action
    from snellen_hub.hosting import add_benchmark, replace_data
    from snellen_hub.question_parts import read_draw
    from snellen_hub.samples.flags import read_flags

    if row is None:
        row = add_benchmark(session, hub.storage, new, stored)
        done = f"{row.rows:,} items" if row.has_data else "a board of reported numbers"
        if row.is_hidden:
            public = read_draw(row).count_public(0)
            done += f", {public:,} public and {row.rows - public:,} private"
    else:
        flags = _count_flags(read_flags(session, row.id))
        count = replace_data(session, hub.storage, row, new, stored)
        done = f"version {row.version}; {count:,} submissions are scored again"
        if flags:
            closed = flags - _count_flags(read_flags(session, row.id))
            done += f"; {closed:,} of {flags:,} flags closed"
    note_action(session, "benchmark", subject=row.name, done=done)
    return done


def _parse_share(text: str) -> float:
    try:
        share = float(text)
    except ValueError:
        share = 0.0
    if not 0 < share < 1:
        raise UsageError(f"{text!r} is no share; expected more than 0 and less than 1, such as 0.3")
    return share


def _count_flags(flagged: list[FlaggedItem]) -> int:
    return sum(len(each.flags) for each in flagged)
