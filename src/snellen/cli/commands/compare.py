"""`snellen compare`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from snellen.api.flags import argument, option, options_field
from snellen.api.options import SourceOptions
from snellen.cli.flags import RUNS, open_runs
from snellen.cli.output import OutputOptions, write_document
from snellen.core.errors import UsageError


@dataclass(frozen=True, kw_only=True)
class Options(OutputOptions):
    """What `snellen compare` takes."""

    runs: Sequence[str] = argument("RUN", RUNS, "+")
    sources: SourceOptions = options_field(SourceOptions)
    common: bool = option(False, "--common")
    siblings: bool = option(
        False,
        "--siblings",
        "compare runs on a data set with runs on its translations, sample by sample: those of one id are one question",
        is_switch=True,
    )
    baseline: bool = option(
        False, "--baseline", "compare every run only with the first, instead of every pair", is_switch=True
    )
    level: float = option(95.0, "--level")
    power: float = option(80.0, "--power")
    margin: float | None = option(
        None,
        "--margin",
        "also test whether runs are worse than each other by at most this many points",
        metavar="POINTS",
        parse=float,
    )


def main(options: Options) -> None:
    """Print the differences, tests and ranks of runs."""
    from snellen.analysis.comparison.paired import compare
    from snellen.report.documents.comparison import comparison_document, comparison_names

    if not 50 <= options.level < 100 or not 50 <= options.power < 100:
        raise UsageError(
            f"--level {options.level:g} and --power {options.power:g}: expected percentages from 50 to below 100"
        )
    runs = open_runs(options.runs, options.sources)
    comparison = compare(
        runs,
        comparison_names(runs, shared_limit=False, siblings=options.siblings),
        common=options.common,
        baseline=options.baseline,
        level=options.level / 100,
        power=options.power / 100,
        margin=options.margin,
        siblings=options.siblings,
    )
    write_document(comparison_document(comparison), options)
