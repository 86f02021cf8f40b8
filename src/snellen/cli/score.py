"""`snellen score`."""

from __future__ import annotations

import json
import sys
from argparse import Namespace

from snellen.cli.main import COMPLETE, INCOMPLETE
from snellen.core.benchmark import Variant


def main(arguments: Namespace) -> int:
    from snellen.api import score
    from snellen.report.scorecard import print_scorecard, scorecard

    variant = Variant(data=arguments.data, circular=arguments.circular, failures=arguments.failures)
    scored = score(
        arguments.benchmark,
        arguments.predictions,
        variant=variant,
        columns=arguments.columns,
        where=arguments.where,
    )
    for warning in scored.warnings:
        print(f"snellen: {warning}", file=sys.stderr)
    if arguments.json:
        card = scorecard(scored.benchmark, scored.summary, scored.warnings)
        print(json.dumps(card, ensure_ascii=False))
    else:
        from rich.console import Console

        print_scorecard(scored.benchmark, scored.summary, Console())
    outcomes = scored.summary.outcomes
    return INCOMPLETE if outcomes["failed"] or outcomes["missing"] else COMPLETE
