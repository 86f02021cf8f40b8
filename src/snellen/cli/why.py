"""`snellen why`."""

from __future__ import annotations

from argparse import Namespace

from snellen.cli.main import COMPLETE
from snellen.cli.printing import print_in, say
from snellen.core.errors import UsageError


def main(arguments: Namespace) -> int:
    from snellen.api.explaining import explain
    from snellen.report.reasons import WHY_EXPORTS, print_why

    if arguments.examples < 0:
        raise UsageError(f"--examples is {arguments.examples}; expected 0 or more")
    found, warnings = explain(
        arguments.first, arguments.second, examples=arguments.examples, moved=arguments.data
    )
    for warning in warnings:
        say(f"snellen: {warning}", error=True)
    form = "json" if arguments.json else arguments.format
    print_in(form, found, print_why, WHY_EXPORTS)
    return COMPLETE
