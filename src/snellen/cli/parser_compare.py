"""Flags of the commands that look at several runs together: `compare`, `why`, `items`, `gains`."""

from __future__ import annotations

import argparse

from snellen.cli import parser_flags as flags
from snellen.cli.parser_flags import Commands


def add(commands: Commands) -> None:
    _compare(commands)
    _why(commands)
    _items(commands)
    _gains(commands)


def _compare(commands: Commands) -> None:
    compare = flags.command(
        commands, "compare", "compare runs on the same samples: differences, tests, ranks"
    )
    flags.runs(compare)
    flags.common(compare, "compare")
    compare.add_argument(
        "--baseline", action="store_true",
        help="compare every run with the first alone, not every pair",
    )  # fmt: skip
    compare.add_argument("--level", type=flags.percent, default=95, metavar="PERCENT",
                         help="confidence of the intervals (default: 95)")  # fmt: skip
    compare.add_argument(
        "--power", type=flags.percent, default=80, metavar="PERCENT",
        help="power for the least difference found and the samples needed (default: 80)",
    )  # fmt: skip
    compare.add_argument(
        "--margin", type=float, metavar="POINTS",
        help="also test whether runs are no worse than each other by more than so many points",
    )  # fmt: skip
    flags.format_of(compare, "json", "markdown")
    flags.as_json(compare)


def _why(commands: Commands) -> None:
    why = flags.command(commands, "why", "split the difference of two runs by what caused it")
    why.add_argument("first", metavar="A", help="a run folder, or a file of predictions")
    why.add_argument("second", metavar="B", help="the same; one of both is a run folder")
    why.add_argument("--with", dest="others", action="append", default=[], metavar="C",
                     help="a run that tells causes apart, e.g. A's model with B's prompt; repeat "
                     "for several (default: such runs in the folders of A and B)")  # fmt: skip
    why.add_argument("--examples", type=int, default=2, metavar="N",
                     help="samples shown of each cause (default: 2)")  # fmt: skip
    flags.moved_data(why)
    _asking(why)
    flags.format_of(why, "json", "markdown")
    flags.as_json(why)


def _asking(why: argparse.ArgumentParser) -> None:
    """Further runs, and on what terms they are asked."""
    why.add_argument(
        "--ask", action="store_true",
        help="where causes differ together, ask what tells them apart, e.g. A's model with B's "
        "prompt: tells the plan and the price first, and waits for consent",
    )  # fmt: skip
    why.add_argument("--yes", action="store_true", help="with --ask: consent beforehand")
    flags.asked_models(
        why, "with --ask: how a model of A or B is reached now, where its name does not say, e.g. "
        "http://localhost:8000/v1#NAME; repeat for several",
    )  # fmt: skip
    flags.load(why)
    why.add_argument(
        "--out", metavar="DIR", help="where runs of --ask are kept (default: `crossed`, beside A)"
    )
    why.add_argument(
        "--store", metavar="FILE",
        help="response store of --ask (default: store.sqlite beside A, or in OUT)",
    )  # fmt: skip
    flags.serve_timeout(why)
    flags.terms(why)
    why.add_argument("-q", "--quiet", action="store_true", help="show no progress")


def _items(commands: Commands) -> None:
    items = flags.command(
        commands, "items", "look at samples over many runs: hardness, labels in doubt, subsets"
    )
    flags.runs(items)
    flags.common(items, "look at")
    items.add_argument("--pictures", action="store_true",
                       help="also look for pictures that are near copies of others")  # fmt: skip
    flags.moved_data(items)
    items.add_argument(
        "--agreement", type=flags.percent, default=95, metavar="PERCENT",
        help="pairs of models that the smallest subset must order as the whole (default: 95)",
    )  # fmt: skip
    items.add_argument("--top", type=int, default=10, metavar="N",
                       help="rows of each table (default: 10)")  # fmt: skip
    flags.format_of(items, "json", "csv", "markdown")
    flags.as_json(items)


def _gains(commands: Commands) -> None:
    gains = flags.command(
        commands, "gains", "tell what one setting is worth: pictures, thinking, examples, any other"
    )
    flags.runs(gains)
    gains.add_argument(
        "--by", metavar="SETTING",
        help="the setting, e.g. images, referring, lang (default: control, cot and shots, against "
        "the run without)",
    )  # fmt: skip
    gains.add_argument(
        "--base", metavar="VALUE",
        help="compare with this value of the setting (default: the run without it, else the first)",
    )  # fmt: skip
    flags.group(gains, default="")
    gains.add_argument(
        "--language-model", metavar="RUN",
        help="a blind run of the language model that the models were made from: tells the "
        "multi-modal leakage",
    )  # fmt: skip
    flags.drawn(gains)
    flags.as_json(gains)
