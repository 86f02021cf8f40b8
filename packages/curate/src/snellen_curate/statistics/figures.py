"""Figures of a data set's statistics."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from snellen.core.errors import storage_errors
from snellen.report.format import percent_interval
from snellen.report.plots.figure import save_plot
from snellen.report.plots.series import Value, dot_plot
from snellen.stats.intervals import wilson
from snellen_curate.statistics.positions import place_letter
from snellen_curate.statistics.results import DatasetStatistics, ProbeScore

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def main_figure(statistics: DatasetStatistics) -> Callable[[], Figure] | None:
    """The figure that a single file has: of the shortcuts, else of the places."""
    if statistics.shortcuts:
        return lambda: _shortcuts(statistics)
    return (lambda: _places(statistics)) if statistics.positions.n else None


def save_figures(statistics: DatasetStatistics, folder: str | Path) -> list[Path]:
    """Write each figure that there are numbers for as SVG; the files that were written.

    Raises MissingExtra without matplotlib, StorageError.
    """
    figures: dict[str, Figure] = {}
    if statistics.positions.n:
        figures["places"] = _places(statistics)
    if statistics.shortcuts:
        figures["shortcuts"] = _shortcuts(statistics)
    if statistics.probe is not None:
        figures["texts-alone"] = _texts_alone(statistics.name, statistics.probe.scores)
    home = Path(folder).expanduser()
    with storage_errors("make the folder", home):
        home.mkdir(parents=True, exist_ok=True)
    for name, figure in figures.items():
        save_plot(figure, home / f"{name}.svg")
    return [home / f"{name}.svg" for name in figures]


def _places(statistics: DatasetStatistics) -> Figure:
    positions = statistics.positions
    n = positions.n
    found, expected = {}, {}
    for place, (count, chance) in enumerate(zip(positions.by_place, positions.chance_by_place, strict=True)):
        row = place_letter(place)
        found[row] = Value(100 * count / n, wilson(count, n).scale())
        expected[row] = Value(100 * chance / n)
    title = f"{statistics.name}: places of the right answer"
    return dot_plot(
        title, {"right answers": found, "even": expected}, fit_axis=True, label=f"% of {n:,} items, with 95 % intervals"
    )


def _shortcuts(statistics: DatasetStatistics) -> Figure:
    tests = {f"{test.rule} ({test.n:,})" + (" *" if test.is_alarm() else ""): test for test in statistics.shortcuts}
    right = {row: Value(100 * test.share, percent_interval(test.interval)) for row, test in tests.items()}
    return dot_plot(
        f"{statistics.name}: how often a rule picks the right option",
        {"right": right, "expected by chance": {row: Value(100 * test.expected) for row, test in tests.items()}},
        label="% of the questions that the rule applies to, with 95 % intervals; * p < 0.05",
    )


def _texts_alone(name: str, scores: Sequence[ProbeScore]) -> Figure:
    rows = {f"classifier: {score.features}": score for score in scores}
    right = {row: Value(100 * score.share, percent_interval(score.interval)) for row, score in rows.items()}
    return dot_plot(
        f"{name}: answered without the images",
        {"right": right, "guessing": {row: Value(100 * score.chance) for row, score in rows.items()}},
        fit_axis=True,
        label="% of the questions, with 95 % intervals",
    )
