"""`snellen why`."""

from __future__ import annotations

import sys
from argparse import Namespace

from snellen.cli.main import COMPLETE
from snellen.cli.printing import print_in
from snellen.core.errors import UsageError


def main(arguments: Namespace) -> int:
    from snellen.api.explaining import explain
    from snellen.report.reasons import WHY_EXPORTS, print_why

    if arguments.examples < 0:
        raise UsageError(f"--examples is {arguments.examples}; expected 0 or more")
    found, warnings = explain(
        arguments.first,
        arguments.second,
        others=arguments.others,
        examples=arguments.examples,
        moved=arguments.data,
    )
    for warning in warnings:
        print(f"snellen: {warning}", file=sys.stderr)
    form = "json" if arguments.json else arguments.format
    print_in(form, found, print_why, WHY_EXPORTS)
    return COMPLETE
