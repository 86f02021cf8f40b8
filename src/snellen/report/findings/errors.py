"""Findings about why answers are wrong (MMT-Bench Fig. 4)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from snellen.analysis.samples.error_samples import (
    MEANINGS,
    ErrorLabel,
    ErrorLabels,
    LabelAgreement,
    WrongAnswer,
    distribution,
    label_agreement,
)
from snellen.report.findings.finding import Finding, FindingTable, TableColumn, percent_interval
from snellen.report.plots.series import stacked_bars


def error_types(label_sets: Sequence[ErrorLabels]) -> Finding:
    """The distribution of labels by model; with two labellers, their agreement too.

    Where several labelled a sample, the first file counts.
    """
    merged: dict[tuple[str, str], ErrorLabel] = {}
    for labels in label_sets:
        for one in labels.samples:
            if one.labels:
                merged.setdefault(one.key, one)
    found = distribution(merged.values())
    rows = [
        (one.model, MEANINGS[one.type][0], one.labels, 100 * one.share, 100 * one.of_errors,
         percent_interval(one.interval))
        for one in found
    ]  # fmt: skip
    columns = (
        TableColumn("model"), TableColumn("type of error"), TableColumn("labels", "count"),
        TableColumn("% of labels", "points"), TableColumn("% of wrong answers", "points"),
        TableColumn("95 % interval", "interval"),
    )  # fmt: skip
    grids = [FindingTable("", columns, rows)]
    for at, first in enumerate(label_sets):
        for second in label_sets[at + 1 :]:
            names = (first.labeller or "first", second.labeller or "second")
            grids.append(_agreement_table(label_agreement(first, second), names))
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
        plot=lambda: stacked_bars("Why answers are wrong, share of labels", plotted),
    )


def _agreement_table(agreements: Sequence[LabelAgreement], names: tuple[str, str]) -> FindingTable:
    rows = [
        (MEANINGS[one.type][0], one.first, one.second, one.both,
         None if one.kappa is None else f"{one.kappa:.2f}")
        for one in agreements
    ]  # fmt: skip
    columns = (
        TableColumn("type of error"), TableColumn(names[0], "count"), TableColumn(names[1], "count"),
        TableColumn("both", "count"), TableColumn("Cohen's kappa", "points"),
    )  # fmt: skip
    return FindingTable(
        f"agreement over {agreements[0].shared} samples that both labelled", columns, rows
    )


def sampled_errors(
    wrong_samples: Sequence[WrongAnswer], page: str, notices: Sequence[str] = ()
) -> Finding:
    """What was drawn for the page."""
    counts = Counter((one.run.info.model, one.subtask) for one in wrong_samples)
    models = Counter(one.run.info.model for one in wrong_samples)
    rows = [
        (model, sum(name == model for name, _ in counts), samples)
        for model, samples in models.items()
    ]
    columns = (
        TableColumn("model"),
        TableColumn("subtasks", "count"),
        TableColumn("wrong answers", "count"),
    )
    return Finding(
        f"{page}: {len(wrong_samples)} samples to label",
        (FindingTable("", columns, rows),),
        notices,
    )
