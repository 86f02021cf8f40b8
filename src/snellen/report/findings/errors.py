"""Findings about why answers are wrong (MMT-Bench Fig. 4)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from snellen.analysis.samples.error_samples import (
    MEANINGS,
    Agreement,
    Label,
    Labels,
    Wrong,
    agreement,
    distribution,
)
from snellen.report.findings.finding import Column, Finding, Grid, percent
from snellen.report.plots.dot_plot import shares


def error_types(labelled: Sequence[Labels]) -> Finding:
    """The distribution of labels by model; with two labellers, their agreement too.

    Where several labelled a sample, the first file counts.
    """
    merged: dict[tuple[str, str], Label] = {}
    for labels in labelled:
        for one in labels.samples:
            if one.labels:
                merged.setdefault(one.key, one)
    found = distribution(merged.values())
    rows = [
        (one.model, MEANINGS[one.type][0], one.labels, 100 * one.share, 100 * one.of_errors,
         percent(one.interval))
        for one in found
    ]  # fmt: skip
    columns = (
        Column("model"), Column("type of error"), Column("labels", "count"),
        Column("% of labels", "points"), Column("% of wrong answers", "points"),
        Column("95 % interval", "interval"),
    )  # fmt: skip
    grids = [Grid("", columns, rows)]
    for at, first in enumerate(labelled):
        for second in labelled[at + 1 :]:
            names = (first.labeller or "first", second.labeller or "second")
            grids.append(_agreement_grid(agreement(first, second), names))
    alike = dict.fromkeys(one.model for one in found if not one.weighted)
    notices = [
        f"{model}: the labels do not say how many wrong answers each subtask has, so that shares "
        "are of the labelled samples; a page made now saves it"
        for model in alike
    ]
    plotted: dict[str, dict[str, float]] = {}
    for share in found:
        plotted.setdefault(share.model, {})[MEANINGS[share.type][0]] = share.share
    return Finding(
        f"why answers are wrong, {len(merged)} labelled samples",
        grids,
        notices,
        plot=lambda: shares("Why answers are wrong, share of labels", plotted),
    )


def _agreement_grid(found: Sequence[Agreement], names: tuple[str, str]) -> Grid:
    rows = [
        (MEANINGS[one.type][0], one.first, one.second, one.both,
         None if one.kappa is None else f"{one.kappa:.2f}")
        for one in found
    ]  # fmt: skip
    columns = (
        Column("type of error"), Column(names[0], "count"), Column(names[1], "count"),
        Column("both", "count"), Column("Cohen's kappa", "points"),
    )  # fmt: skip
    return Grid(f"agreement over {found[0].shared} samples that both labelled", columns, rows)


def sampled(drawn: Sequence[Wrong], page: str, notices: Sequence[str] = ()) -> Finding:
    """What was drawn for the page."""
    counts = Counter((one.run.info.model, one.subtask) for one in drawn)
    models = Counter(one.run.info.model for one in drawn)
    rows = [
        (model, sum(name == model for name, _ in counts), samples)
        for model, samples in models.items()
    ]
    columns = (Column("model"), Column("subtasks", "count"), Column("wrong answers", "count"))
    return Finding(f"{page}: {len(drawn)} samples to label", (Grid("", columns, rows),), notices)
