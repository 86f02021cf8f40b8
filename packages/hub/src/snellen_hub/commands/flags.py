"""`snellen hub flags`."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from pathlib import Path

from snellen.cli.exit_codes import COMPLETE
from snellen.cli.printing import print_line
from snellen_hub.commands import add_folder


def add(parser: ArgumentParser) -> None:
    add_folder(parser)
    parser.add_argument("name", metavar="BENCHMARK", help="a benchmark with public answers")
    parser.add_argument(
        "--out", required=True, metavar="DIR", help="folder of the data set, with its flags"
    )


def main(arguments: Namespace) -> int:
    """Write the open flags of a benchmark for a review."""
    from snellen_hub.hub import open_hub
    from snellen_hub.samples.review_folder import write_review_folder

    with open_hub(arguments.folder) as hub:
        written = write_review_folder(hub, arguments.name, Path(arguments.out))
    print_line(
        f"{arguments.out}: {written.items:,} items, {written.flagged:,} of them flagged "
        f"({written.flags:,} flags)"
    )
    print_line(f"review them with: snellen curate review {arguments.out}")
    return COMPLETE
