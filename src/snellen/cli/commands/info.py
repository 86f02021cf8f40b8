"""`snellen info`: what is known about one model, benchmark, suite or recipe."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from snellen.cli.exit_codes import COMPLETE
from snellen.cli.printing import print_line

_MAX_WIDTH = 24
"""Characters of the first column; the benchmarks of a recipe's row may take more."""


def add(parser: ArgumentParser) -> None:
    parser.add_argument(
        "name", metavar="NAME", help="a model, a benchmark, a suite, a recipe or a data file"
    )


def main(arguments: Namespace) -> int:
    from snellen.report.terminal.name_facts import facts_of_name

    facts = {name: text for name, text in facts_of_name(arguments.name).items() if text}
    width = min(max(map(len, facts)), _MAX_WIDTH)
    for name, text in facts.items():
        print_line(f"{name:<{width}}  {text}")
    return COMPLETE
