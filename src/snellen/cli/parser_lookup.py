"""Flags of the commands that tell about names, data and this installation."""

from __future__ import annotations

from snellen.cli import parser_flags as flags
from snellen.cli.parser_flags import Commands
from snellen.cli.parser_report import FILTER


def add(commands: Commands) -> None:
    known = flags.command(commands, "list", "list what is known by name", "list")
    known.add_argument(
        "what", choices=("models", "benchmarks", "suites"), metavar="WHAT",
        help="models, benchmarks or suites",
    )  # fmt: skip
    known.add_argument("--filter", metavar="FILTER", help=FILTER)
    known.add_argument("--json", action="store_true", help="print JSON")
    info = flags.command(commands, "info", "tell about a model or a benchmark", "list")
    info.add_argument("name", metavar="NAME", help="a model, a benchmark, a suite or a data file")
    info.set_defaults(what="info")
    doctor = flags.command(commands, "doctor", "check this installation, or a store of replies")
    doctor.add_argument(
        "store", nargs="?", metavar="STORE", help="check this store.sqlite, row by row"
    )
    doctor.add_argument(
        "--repair", action="store_true",
        help="copy what is sound into a new store; the damaged one is kept beside it",
    )  # fmt: skip
    doctor.add_argument("--json", action="store_true", help="print JSON")
    _data(commands)


def add_card(commands: Commands) -> None:
    card = flags.command(commands, "card", "print the protocol card of a benchmark")
    card.add_argument("name", metavar="BENCHMARK", help="a name, or a data file of your own")
    flags.as_json(card)


def _data(commands: Commands) -> None:
    data = flags.command(commands, "data", "fetch, check, convert and describe data files")
    actions = data.add_subparsers(title="actions", metavar="ACTION", required=True, dest="action")
    pull = actions.add_parser(
        "pull", help="fetch and index the data of benchmarks, several at once"
    )
    pull.add_argument("benchmarks", nargs="+", metavar="BENCHMARK",
                      help="a name, e.g. scienceqa:split=val")  # fmt: skip
    for name, help in (
        ("verify", "open every picture and check ids and answers"),
        ("info", "rows, columns, pictures, kinds of question"),
    ):
        action = actions.add_parser(name, help=help)
        action.add_argument("data", metavar="DATA", help="a data file, or a benchmark's name")
        action.add_argument("--json", action="store_true", help="print JSON")
    check = actions.add_parser(
        "check", help="all that is wrong or doubtful in data of your own, with row numbers"
    )
    check.add_argument(
        "data", metavar="DATA", help="a data file, its TOML description, or a benchmark's name"
    )
    flags.columns(check)
    check.add_argument("--json", action="store_true", help="print JSON")
    convert = actions.add_parser("convert", help="TSV, JSONL or Parquet into one another")
    convert.add_argument("data", metavar="DATA", help="a data file, or a benchmark's name")
    convert.add_argument(
        "target", metavar="FILE", help="the file to write; its suffix tells the format"
    )
