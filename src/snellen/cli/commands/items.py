"""`snellen items`."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from functools import partial
from pathlib import Path

from snellen.api.options import SourceOptions
from snellen.cli.exit_codes import COMPLETE
from snellen.cli.flags import (
    add_common,
    add_format,
    add_json,
    add_runs,
    open_runs,
    percent,
    read_options,
)
from snellen.cli.printing import print_result
from snellen.core.atomic_write import save
from snellen.core.errors import UsageError


def add(parser: ArgumentParser) -> None:
    add_runs(parser)
    add_common(parser, "look at")
    parser.add_argument("--pictures", action="store_true",
                        help="also look for images that are near copies of others")  # fmt: skip
    parser.add_argument(
        "--agreement", type=percent, default=95, metavar="PERCENT",
        help="share of model pairs that the smallest subset must order like the full set "
            "(default: 95)",
    )  # fmt: skip
    parser.add_argument("--top", type=int, default=10, metavar="N",
                        help="rows of each table (default: 10)")  # fmt: skip
    parser.add_argument(
        "--doubtful", metavar="FILE",
        help="write the ids of the labels in doubt, which `snellen curate review --items` takes",
    )  # fmt: skip
    add_format(parser, "json", "csv", "markdown")
    add_json(parser)


def main(arguments: Namespace) -> int:
    """Print what many runs show about samples."""
    from snellen.analysis.samples.items import analyse_items
    from snellen.api.items import similar_images
    from snellen.report.terminal.comparison import comparison_names
    from snellen.report.terminal.items import (
        SimilarImages,
        print_items,
        to_csv,
        to_json,
        to_markdown,
    )

    if not 50 <= arguments.agreement <= 100 or arguments.top < 1:
        raise UsageError(
            f"--agreement {arguments.agreement:g} and --top {arguments.top}: expected 50 to 100 "
            "percent, and at least 1"
        )
    runs = open_runs(arguments.runs, read_options(arguments, SourceOptions))
    findings = analyse_items(
        runs, comparison_names(runs), common=arguments.common, agreement=arguments.agreement / 100
    )
    if arguments.doubtful is not None:
        ids = "".join(f"{suspect.id}\n" for suspect in findings.suspects)
        save(Path(arguments.doubtful), ids)
    similar = SimilarImages(similar_images(runs[0], arguments.data) if arguments.pictures else None)
    form = "json" if arguments.json else arguments.format
    print_result(
        form,
        findings,
        partial(print_items, similar_images=similar, max_rows=arguments.top),
        {
            "csv": to_csv,
            "json": partial(to_json, similar_images=similar),
            "markdown": partial(to_markdown, similar_images=similar, max_rows=arguments.top),
        },
    )
    return COMPLETE
