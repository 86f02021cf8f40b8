"""Flags that several commands have: the same words for the same thing everywhere."""

from __future__ import annotations

import argparse
from typing import Any

RUNS = "run folders, or a folder of runs"
Commands = Any
"""What `add_subparsers` returns; its class is private to argparse."""


def command(commands: Commands, name: str, help: str, module: str = "") -> argparse.ArgumentParser:
    """A command that `cli/<module>.py` answers, by default the module of its name."""
    parser: argparse.ArgumentParser = commands.add_parser(
        name, help=help, description=help[0].upper() + help[1:] + "."
    )
    parser.set_defaults(module=module or name, parser=parser)
    return parser


def runs(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("runs", nargs="+", metavar="RUN", help=RUNS)


def moved_data(parser: argparse.ArgumentParser) -> None:
    """Where the data of finished runs are now: `data`, a list."""
    parser.add_argument(
        "--data", action="append", default=[], metavar="FILE",
        help="where the data of a run are now, if they were moved; used where they are the same",
    )  # fmt: skip


def as_json(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def format_of(parser: argparse.ArgumentParser, *formats: str) -> None:
    parser.add_argument(
        "--format", default="table", choices=("table", *formats), help="default: table"
    )


def common(parser: argparse.ArgumentParser, verb: str) -> None:
    parser.add_argument(
        "--common", action="store_true",
        help=f"{verb} only the samples that all runs share, where their data or samples differ",
    )  # fmt: skip


def asked_models(parser: argparse.ArgumentParser, help: str, required: bool = False) -> None:
    parser.add_argument(
        "-m", "--model", action="append", default=None if required else [], required=required,
        metavar="MODEL", help=help,
    )  # fmt: skip


def kept(parser: argparse.ArgumentParser, what: str) -> None:
    """Where things are kept: `--out`, `--store`."""
    parser.add_argument("--out", default="snellen-results", metavar="DIR",
                        help=f"where {what} are kept")  # fmt: skip
    parser.add_argument(
        "--store", metavar="FILE", help="response store (default: OUT/store.sqlite)"
    )


def max_new_tokens(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--max-new-tokens", type=int, metavar="N", help="longest reply, in tokens")


def load(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--load", action="append", default=[], metavar="FILE.py",
                        help="a Python file with a model or benchmark of your own")  # fmt: skip


def serve_timeout(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--serve-timeout", type=float, metavar="SECONDS",
        help="how long a server may take until it is ready",
    )  # fmt: skip


def terms(parser: argparse.ArgumentParser) -> None:
    """On what terms servers are asked: `--retries`, `--max-failures`, `--budget`, `--price`."""
    parser.add_argument(
        "--retries", type=int, metavar="N",
        help="how often a request to a server is sent again when it failed in a way that may "
        "pass (default: 7)",
    )  # fmt: skip
    parser.add_argument(
        "--max-failures", metavar="N|P%",
        help="end the run when more requests failed for good (default: when the first 20 to a "
        "server all did, or 20 in a row once it is gone)",
    )  # fmt: skip
    parser.add_argument(
        "--budget", metavar="AMOUNT",
        help="send nothing more once this command has spent so much, e.g. 5usd or 2Mtok",
    )  # fmt: skip
    parser.add_argument(
        "--price", action="append", default=[], metavar="MODEL:input=USD,output=USD",
        help="what a million tokens of a model cost, where Snellen knows no price",
    )  # fmt: skip


def columns(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--columns", type=pairs, metavar="ROLE=NAME,...",
        help="what your columns are called, e.g. question=text,gold=label",
    )  # fmt: skip


def group(parser: argparse.ArgumentParser, default: str = "category") -> None:
    parser.add_argument("--group", default=default, metavar="NAME",
                        help=f"by this grouping (default: {default or 'none'})")  # fmt: skip


def drawn(parser: argparse.ArgumentParser, what: str = "it") -> None:
    parser.add_argument("-o", "--output", metavar="FILE.svg",
                        help=f"draw {what}: an SVG or PNG file")  # fmt: skip


def share(text: str) -> float:
    """A share, written `0.1` or `10%`; its range is for who uses it. Raises ArgumentTypeError."""
    number = text.strip().removesuffix("%")
    try:
        return float(number) / (1 if number == text.strip() else 100)
    except ValueError:
        raise argparse.ArgumentTypeError(
            f"{text!r}: expected a share from 0 to 1, e.g. 0.1 or 10%"
        ) from None


def percent(text: str) -> float:
    """A percentage, written `95` or `95%`. Raises ArgumentTypeError."""
    try:
        return float(text.strip().removesuffix("%"))
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r}: expected a percentage, e.g. 95") from None


def pairs(text: str) -> dict[str, str]:
    """`key=value,...`. Raises ArgumentTypeError."""
    found: dict[str, str] = {}
    for pair in text.split(","):
        key, equals, value = pair.partition("=")
        if not key or not equals:
            raise argparse.ArgumentTypeError(f"{pair!r} is not of the form key=value")
        found[key.strip()] = value
    return found
