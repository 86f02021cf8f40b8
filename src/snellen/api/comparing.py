"""`compare`: paired comparison of runs on the same samples, as in `snellen compare`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import msgspec

from snellen.analysis.comparison.paired import BenchmarkComparison, PairDifference, RunComparison
from snellen.analysis.comparison.paired import compare as compare_runs
from snellen.api.frames import RowExport, Rows
from snellen.api.mistakes import shorten_tracebacks
from snellen.core.errors import UsageError
from snellen.report.console import printed_text
from snellen.report.document import Document
from snellen.report.documents.comparison import comparison_document, comparison_names, verdicts
from snellen.report.writers.terminal import print_document
from snellen.store.runs import RunFolder, find_runs


class Comparison(RowExport):
    """Differences between runs, pair by pair. Iterate over the pairs; each has `difference` (second
    minus first, in points), `interval`, `p`, and `p_holm`, adjusted for all pairs."""

    def __init__(self, comparison: RunComparison) -> None:
        self.result = comparison
        """All numbers, as `snellen compare --json` prints them."""

    @property
    def pairs(self) -> tuple[PairDifference, ...]:
        return self.result.pairs

    @property
    def benchmarks(self) -> tuple[BenchmarkComparison, ...]:
        """The ranks of the runs on each benchmark."""
        return self.result.benchmarks

    @property
    def verdicts(self) -> list[str]:
        """A sentence about each pair."""
        return list(verdicts(self.result))

    def __len__(self) -> int:
        return len(self.pairs)

    def __iter__(self) -> Iterator[PairDifference]:
        return iter(self.pairs)

    def __getitem__(self, index: int) -> PairDifference:
        return self.pairs[index]

    def to_dicts(self) -> Rows:
        """One row per pair."""
        return [_pair_row(pair) for pair in self.pairs]

    @property
    def document(self) -> Document:
        """What `snellen compare` shows."""
        return comparison_document(self.result)

    def __repr__(self) -> str:
        return printed_text(lambda console: print_document(self.document, console))

    def _repr_html_(self) -> str:
        from snellen.report.writers.html import write_fragment

        return write_fragment(self.document)


@shorten_tracebacks
def compare(
    *runs: RunFolder | Path | str | Iterable[RunFolder | Path | str],
    common: bool = False,
    baseline: bool = False,
    level: float = 0.95,
    power: float = 0.8,
    margin: float | None = None,
    siblings: bool = False,
) -> Comparison:
    """Compare runs of the same benchmark: each pair of them, or with `baseline` all with the first.

    `runs` are runs, `Results`, folders, or lists of these. `common` compares only the samples that
    all runs share, where their data or samples differ. `level` is the confidence of the intervals;
    `power` that of the smallest detectable difference; `margin`, in points, also tests whether runs
    are no worse than each other. `siblings` compares runs on a data set with runs on its
    translations: samples of one id are one question. Raises UsageError for fewer than two runs of a
    benchmark, and for runs that cannot be compared.
    """
    if not (0.5 <= level < 1 and 0.5 <= power < 1):
        raise UsageError(f"level {level:g} and power {power:g}: expected fractions from 0.5 to below 1")
    folders = _distinct(runs)
    comparison = compare_runs(
        folders,
        comparison_names(folders, shared_limit=False, siblings=siblings),
        common=common,
        baseline=baseline,
        level=level,
        power=power,
        margin=margin,
        siblings=siblings,
    )
    return Comparison(comparison)


def _distinct(runs: Iterable[Any]) -> list[RunFolder]:
    """The runs at any depth of lists, each once, in their order."""
    found: dict[Path, RunFolder] = {}
    for run in runs:
        if isinstance(run, RunFolder):
            found.setdefault(run.path.resolve(), run)
        elif isinstance(run, str | Path):
            for folder in find_runs(run):
                found.setdefault(folder.path.resolve(), folder)
        elif isinstance(run, Iterable):
            for folder in _distinct(run):
                found.setdefault(folder.path.resolve(), folder)
        else:
            raise UsageError(f"{type(run).__name__} is not a run; expected runs, Results, or folders of runs")
    return list(found.values())


def _pair_row(pair: PairDifference) -> dict[str, Any]:
    row: dict[str, Any] = msgspec.structs.asdict(pair)
    interval = pair.interval
    for name in ("interval", "anytime", "bounds", "needed", "margin", "groups"):
        del row[name]
    position = list(row).index("difference") + 1
    ends = {"low": interval.low if interval else None, "high": interval.high if interval else None}
    items = list(row.items())
    return dict([*items[:position], *ends.items(), *items[position:]])
