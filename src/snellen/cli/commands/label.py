"""`snellen label`: draw unread replies for people to label; compare extractors with the labels."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from pathlib import Path

from snellen.analysis.parsing.unread_replies import (
    extractor_agreement,
    read_labels,
    sample_replies,
    unread_replies,
    write_sheet,
)
from snellen.api.options import SourceOptions
from snellen.cli.exit_codes import COMPLETE
from snellen.cli.flags import add_runs, fraction, open_runs, read_options
from snellen.cli.printing import print_line
from snellen.core.errors import UsageError
from snellen.store.runs import require_single


def add(parser: ArgumentParser) -> None:
    add_runs(parser)
    parser.add_argument("-o", "--output", metavar="FILE.csv", help="labelling sheet to write")
    parser.add_argument(
        "--share", type=fraction, default=0.1, metavar="SHARE",
        help="share of the replies to sample, e.g. 0.1 or 10%% (default: 0.1)",
    )  # fmt: skip
    parser.add_argument("--seed", type=int, default=0, help="seed of the sample")
    parser.add_argument("--labels", metavar="FILE.csv", help="a filled sheet to compare with")


def main(arguments: Namespace) -> int:
    """Write a labelling sheet, or compare extractors with a filled one."""
    runs = open_runs(arguments.runs, read_options(arguments, SourceOptions))
    require_single(runs, "label")
    if arguments.labels is not None:
        labels = read_labels(Path(arguments.labels))
        for run in runs:
            agreement = extractor_agreement(run, labels)
            low, high = 100 * agreement.interval.low, 100 * agreement.interval.high
            print_line(
                f"{agreement.extractor}: {100 * agreement.share:.1f} % of {agreement.labelled} "
                f"labelled replies read as people do "
                f"(95 % interval {low:.1f}-{high:.1f}; {run.name})"
            )
        return COMPLETE
    unread = [reply for run in runs for reply in unread_replies(run.records())]
    distinct = list({(reply.id, reply.pass_index, reply.text): reply for reply in unread}.values())
    if not distinct:
        print_line("every reply was read by a rule: nothing to label")
        return COMPLETE
    if arguments.output is None:
        raise UsageError("where shall the labelling sheet go? add -o FILE.csv")
    sheet = sample_replies(distinct, arguments.share, arguments.seed)
    write_sheet(sheet, Path(arguments.output))
    print_line(f"{arguments.output}: {len(sheet)} of {len(distinct)} unread replies to label")
    return COMPLETE
