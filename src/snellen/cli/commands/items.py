"""`snellen items`."""

from __future__ import annotations

from argparse import Namespace
from functools import partial

from snellen.cli.main import COMPLETE
from snellen.cli.printing import print_in
from snellen.core.errors import UsageError


def main(arguments: Namespace) -> int:
    from snellen.analysis.samples.items import itemise
    from snellen.api.items import alike_pictures
    from snellen.report.terminal.comparison import names_of
    from snellen.report.terminal.items import Pictures, print_items, to_csv, to_json, to_markdown
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
    pictures = Pictures(alike_pictures(runs[0], arguments.data) if arguments.pictures else None)
    form = "json" if arguments.json else arguments.format
    print_in(
        form,
        found,
        partial(print_items, pictures=pictures, most=arguments.top),
        {
            "csv": to_csv,
            "json": partial(to_json, pictures=pictures),
            "markdown": partial(to_markdown, pictures=pictures, most=arguments.top),
        },
    )
    return COMPLETE
