"""`snellen items`."""

from __future__ import annotations

import sys
from argparse import Namespace

from snellen.cli.main import COMPLETE
from snellen.core.errors import UsageError


def main(arguments: Namespace) -> int:
    from snellen.analysis.items import itemise
    from snellen.api.itemising import alike_pictures
    from snellen.report.comparison import names_of
    from snellen.report.items import Pictures, print_items, to_csv, to_json, to_markdown
    from snellen.store.runs import distinct_runs

    if not 50 <= arguments.agreement <= 100 or arguments.top < 1:
        raise UsageError(
            f"--agreement {arguments.agreement:g} and --top {arguments.top}: expected 50 to 100 "
            "percent, and at least 1"
        )
    runs = distinct_runs(arguments.runs)
    found = itemise(
        runs, names_of(runs), common=arguments.common, agreement=arguments.agreement / 100
    )
    pictures = Pictures(alike_pictures(runs[0]) if arguments.pictures else None)
    form = "json" if arguments.json else arguments.format
    if form == "table":
        from rich.console import Console

        print_items(found, pictures, arguments.top, Console())
    elif form == "csv":
        sys.stdout.write(to_csv(found))
    elif form == "json":
        sys.stdout.write(to_json(found, pictures))
    else:
        sys.stdout.write(to_markdown(found, pictures, arguments.top))
    return COMPLETE
