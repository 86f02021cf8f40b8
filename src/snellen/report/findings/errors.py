"""Findings about why answers are wrong (MMT-Bench Fig. 4)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import combinations

from snellen.analysis.findings.judged_shares import JudgedShare, judged_share
from snellen.analysis.samples.error_samples import (
    MEANINGS,
    ErrorLabel,
    ErrorLabels,
    LabelAgreement,
    TypeShare,
    WrongAnswer,
    distribution,
    label_agreement,
    wrong_answers_each,
)
from snellen.core.errors import UsageError
from snellen.report.document import Cell, Column, Document, Table, table_of, titled_document
from snellen.report.format import percent_interval
from snellen.report.plots.series import stacked_bars

JUDGED = (
    Column("judge says", "count"),
    Column("of", "count"),
    Column("corrected", "share"),
    Column("95 % interval", "share"),
    Column("confirmed"),
    Column("missed"),
)
"""Columns of `judged_cells`."""


def judged_cells(share: JudgedShare) -> tuple[Cell, ...]:
    """A share by a judge and corrected; which part of the labels confirms the judge where it says
    yes, and which part says yes where the judge does not."""
    corrected = share.corrected
    return (
        share.said,
        share.total,
        None if corrected is None else corrected.share,
        None if corrected is None else corrected.interval,
        "{} of {}".format(*share.confirmed),
        "{} of {}".format(*share.missed),
    )


def judged_types(judged: Sequence[ErrorLabels], labels: ErrorLabels) -> Document:
    """The types of error that a judge proposed, corrected by a person's labels of some answers."""
    by_person = {sample.key: sample.labels for sample in labels.samples if sample.labels}
    samples = [sample for one in judged for sample in one.samples if sample.labels]
    if not any(sample.key in by_person for sample in samples):
        raise UsageError("the labels and the judge have no sample in common")
    rows = []
    unweighted: list[str] = []
    for model in dict.fromkeys(sample.model or sample.run for sample in samples):
        own = [sample for sample in samples if (sample.model or sample.run) == model]
        weights = wrong_answers_each(own)
        unweighted += [] if weights else [model]
        for name, (title, _) in MEANINGS.items():
            verdicts = {sample.key: name in sample.labels for sample in own}
            known = {key: name in types for key, types in by_person.items()}
            rows.append((model, title, *judged_cells(judged_share(verdicts, known, weights))))
    columns = (Column("model", "name"), Column("type of error"), *JUDGED)
    return titled_document(
        f"why answers are wrong, {len(samples)} judged samples",
        [Table("", columns, rows)],
        [
            "corrected: the share of all wrong answers with this type, by the labels of samples that "
            "the judge gave it to, and of others",
            *_not_weighted(unweighted),
        ],
    )


def _not_weighted(models: Iterable[str]) -> list[str]:
    return [
        f"{model}: the labels do not say how many wrong answers each subtask has, so that shares "
        "are of the labelled samples; a page made now saves it"
        for model in models
    ]


def error_types(label_sets: Sequence[ErrorLabels]) -> Document:
    """The distribution of error labels by model; with two labellers also their agreement.

    If several label files have a sample, the first one counts.
    """
    merged: dict[tuple[str, str], ErrorLabel] = {}
    for labels in label_sets:
        for sample in labels.samples:
            if sample.labels:
                merged.setdefault(sample.key, sample)
    distributions = distribution(merged.values())
    tables = [_distribution_table(distributions)]
    for first, second in combinations(label_sets, 2):
        names = (first.labeller or "first", second.labeller or "second")
        names = names if names[0] != names[1] else (f"{names[0]}, first", f"{names[1]}, second")
        tables.append(_agreement_table(label_agreement(first, second), names))
    unweighted = dict.fromkeys(entry.model for entry in distributions if not entry.weighted)
    plotted: dict[str, dict[str, float]] = {}
    for share in distributions:
        plotted.setdefault(share.model, {})[MEANINGS[share.type][0]] = share.share
    return titled_document(
        f"why answers are wrong, {len(merged)} labelled samples",
        tables,
        _not_weighted(unweighted),
        plot=lambda: stacked_bars("Why answers are wrong, share of labels", plotted),
    )


def _distribution_table(distributions: Sequence[TypeShare]) -> Table:
    return table_of(
        "",
        distributions,
        [
            (Column("model", "name"), lambda entry: entry.model),
            (Column("type of error"), lambda entry: MEANINGS[entry.type][0]),
            (Column("labels", "count"), lambda entry: entry.labels),
            (Column("% of labels", "points"), lambda entry: 100 * entry.share),
            (Column("% of wrong answers", "points"), lambda entry: 100 * entry.of_errors),
            (Column("95 % interval", "points"), lambda entry: percent_interval(entry.interval)),
        ],
    )


def _agreement_table(agreements: Sequence[LabelAgreement], names: tuple[str, str]) -> Table:
    return table_of(
        f"agreement over {agreements[0].shared} samples that both labelled",
        agreements,
        [
            (Column("type of error"), lambda entry: MEANINGS[entry.type][0]),
            (Column(names[0], "count"), lambda entry: entry.first),
            (Column(names[1], "count"), lambda entry: entry.second),
            (Column("both", "count"), lambda entry: entry.both),
            (Column("Cohen's kappa", "number", digits=2), lambda entry: entry.kappa),
        ],
    )


def sampled_errors(wrong_samples: Sequence[WrongAnswer], page: str, notices: Sequence[str] = ()) -> Document:
    """By model: subtasks with wrong answers, how many of these are on the page, and how many there are."""
    drawn = Counter(answer.run.info.model for answer in wrong_samples)
    counts = {(answer.run.path, answer.subtask): answer for answer in wrong_samples}.values()
    rows = []
    for model, samples in drawn.items():
        own = [answer for answer in counts if answer.run.info.model == model]
        subtasks = len({answer.subtask for answer in own})
        rows.append((model, subtasks, samples, sum(answer.wrong_count for answer in own)))
    counted = ("subtasks", "to label", "wrong answers")
    columns = (Column("model", "name"), *(Column(name, "count") for name in counted))
    return titled_document(f"{page}: {len(wrong_samples)} samples to label", (Table("", columns, rows),), notices)
