"""What `snellen why` shows: how a difference splits into causes, and differing samples for each; of a
sequence of runs, which step changed the score; and a run against the published numbers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from snellen.analysis.causes.differing_samples import DifferingSample
from snellen.analysis.causes.factors import Cause
from snellen.analysis.causes.why import CauseContribution, DifferenceSplit, ObservedDifference, open_combinations
from snellen.analysis.published.numbers import PublishedExplanation, PublishedNumberExplained
from snellen.report import format as fmt
from snellen.report.document import (
    Block,
    Cell,
    Column,
    Document,
    EmptyLine,
    IntervalEstimate,
    Line,
    Table,
    Verbatim,
    table_of,
)
from snellen.stats.paired import holm_of_tested

CAUSE_LABELS: Mapping[Cause, str] = {
    "data": "data",
    "media": "media",
    "prompt": "prompt",
    "failures": "failures",
    "decoding": "decoding, truncation",
    "model": "the model",
    "chance": "chance",
    "extraction": "extraction",
    "judge": "judge",
    "scoring": "scoring rule",
}
_NOISE = 1e-9
"""Sums of floats may differ by this many points."""
_UNKNOWN_REQUESTS = frozenset({"media", "prompt", "decoding", "model"})
"""Causes that are unknown for a file of predictions."""


def causes_text(causes: Sequence[Cause]) -> str:
    """The labels of causes that are not separable: `prompt or the model`."""
    if set(causes) >= _UNKNOWN_REQUESTS:
        others = [CAUSE_LABELS[cause] for cause in causes if cause not in _UNKNOWN_REQUESTS]
        return " or ".join(["the model or how it was asked", *others])
    return " or ".join(CAUSE_LABELS[cause] for cause in causes)


def heading(explanation: DifferenceSplit) -> str:
    """Both scores and their difference."""
    return (
        f"{explanation.benchmark}: "
        f"{explanation.first} {fmt.score_text(explanation.first_score)}, "
        f"{explanation.second} {fmt.score_text(explanation.second_score)}: "
        f"{fmt.difference_text(explanation.observed.difference)} points"
    )


def why_document(explanation: DifferenceSplit) -> Document:
    """Notices, the difference, its causes, what their numbers assume, differing settings, and
    samples of each cause."""
    blocks: list[Block] = [Line(notice, "notice") for notice in explanation.notices]
    blocks += [Line(heading(explanation), "heading"), observed_table(explanation)]
    blocks.append(attribution_table(explanation))
    blocks += [Line(remark, is_unbroken=True) for remark in remarks(explanation)]
    blocks += [Line(f"to quote: {sentence(explanation)}", is_unbroken=True)]
    if explanation.settings:
        columns = [Column("setting"), Column(explanation.first), Column(explanation.second)]
        rows = [(setting.name, setting.first, setting.second) for setting in explanation.settings]
        blocks += [EmptyLine(), Table("made with", columns, rows)]
    for name, lines in example_lines(explanation):
        blocks += [EmptyLine(), Line(name, "heading"), Verbatim(lines)]
    return Document(blocks, explanation, _records(explanation))


def observed_table(explanation: DifferenceSplit) -> Table:
    """A table of the difference."""
    seen = explanation.observed
    anytime = Column("anytime interval", "signed")
    return table_of(
        "observed",
        [seen],
        [
            (Column("difference", "name"), lambda _: f"{explanation.second} – {explanation.first}"),
            (Column("points", "signed"), lambda seen: seen.difference),
            (Column("95 % interval", "signed"), lambda seen: seen.interval),
            (Column("p", "p"), lambda seen: seen.p),
            (Column("samples", "count", is_optional=True), lambda seen: seen.aligned),
            *([(anytime, lambda seen: seen.anytime)] if seen.anytime is not None else []),
        ],
    )


def attribution_table(explanation: DifferenceSplit) -> Table:
    """A row for each cause, or for causes that are not separable, and their sum. Empty columns are
    left out."""
    columns = (
        Column("cause"),
        Column("points", "signed"),
        Column("least to most", "signed", is_optional=True),
        Column("95 % interval", "signed"),
        Column("samples", "count", is_optional=True),
        Column("in one only", "count", is_optional=True),
        Column("how"),
    )
    total: Sequence[Cell] = ("all", explanation.observed.difference, "", "", "", "", "")
    rows = [*_contribution_rows(explanation), total]
    filled = [index for index in range(len(columns)) if any(row[index] != "" for row in rows)]
    picked = [[row[index] for index in filled] for row in rows]
    return Table("attributed", [columns[index] for index in filled], picked)


def _contribution_rows(explanation: DifferenceSplit) -> Iterator[Sequence[Cell]]:
    """The rows of all contributions. A cause without a row of its own has its range below the first
    contribution that it is part of."""
    ranges = {each.cause: each for each in explanation.ranges}
    listed = {share.causes[0] for share in explanation.shares if len(share.causes) == 1}
    for share in explanation.shares:
        yield (
            causes_text(share.causes),
            share.points,
            _range_text(share.least, share.most) if _has_range(share) else "",
            share.interval,
            f"+{fmt.count_text(share.gained)} –{fmt.count_text(share.lost)}",
            share.apart or "",
            _method_text(share),
        )
        if share.method == "together" and not set(share.causes) >= _UNKNOWN_REQUESTS:
            for cause in share.causes:
                if cause not in listed and (found := ranges.get(cause)) is not None:
                    bounds = _range_text(found.least, found.most)
                    yield (f"  {CAUSE_LABELS[cause]}", None, bounds, "", "", "", "")
            listed |= set(share.causes)


def _records(explanation: DifferenceSplit) -> Table:
    """A row for each cause, or for causes that are not separable."""
    return table_of(
        "",
        explanation.shares,
        [
            (Column("cause"), lambda share: causes_text(share.causes)),
            (Column("points", "signed"), lambda share: IntervalEstimate(share.points, share.interval)),
            (Column("least", "signed"), lambda share: share.least),
            (Column("most", "signed"), lambda share: share.most),
            (Column("gained", "count"), lambda share: share.gained),
            (Column("lost", "count"), lambda share: share.lost),
            (Column("in one only", "count"), lambda share: share.apart),
            (Column("how"), lambda share: share.method),
        ],
    )


def sentence(explanation: DifferenceSplit) -> str:
    """The difference and its causes with n, interval and test, to be quoted."""
    seen = explanation.observed
    higher = seen.difference >= 0
    return (
        f"On {explanation.benchmark}, {explanation.second} scores "
        f"{abs(seen.difference):.1f} points {'higher' if higher else 'lower'} than "
        f"{explanation.first} ({fmt.score_text(explanation.second_score)} against "
        f"{fmt.score_text(explanation.first_score)}; n = {_sample_size(seen)}; "
        f"{_test_text(seen)}). {_causes_sentence(explanation)}"
    )


def _sample_size(seen: ObservedDifference) -> str:
    clusters = "" if seen.clusters == seen.aligned else f" in {seen.clusters:,} clusters"
    return f"{seen.aligned:,} questions that both answered{clusters}"


def _test_text(seen: ObservedDifference) -> str:
    if seen.interval is None or seen.p is None:
        return f"not tested: {seen.reason}"
    level = f"{100 * seen.interval.level:g} % CI"
    bounds = fmt.difference_interval_text(seen.interval)
    return f"{level} {bounds}; p {fmt.p_clause(seen.p)}, {seen.test}"


def _causes_sentence(explanation: DifferenceSplit) -> str:
    """What is attributed to which causes, the largest part first."""
    shares = sorted(explanation.shares, key=lambda share: -abs(share.points))
    parts = [f"{causes_text(share.causes)} ({_share_text(share)})" for share in shares]
    if not parts:
        return "No score differs."
    is_mean = any(share.orders > 1 for share in shares)
    how = ", each as its mean over the known orders of changing them" if is_mean else ""
    listed = parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"
    return f"The difference is attributed to {listed}{how}."


def _share_text(share: CauseContribution) -> str:
    """Points, interval, and what is not known about them."""
    parts = [fmt.difference_text(share.points)]
    if share.interval is not None:
        level = f"{100 * share.interval.level:g} % CI"
        parts.append(f"{level} {fmt.difference_interval_text(share.interval)}")
    if share.method == "together":
        parts.append("not told apart")
    elif share.most - share.least > _NOISE:
        parts.append(f"{_range_text(share.least, share.most)} by the order")
    return "; ".join(parts)


def _has_range(contribution: CauseContribution) -> bool:
    """Whether the contribution has a range: it was measured in several orders, or depends on the
    order."""
    return contribution.method in ("read again", "measured") or contribution.most - contribution.least > _NOISE


def _range_text(low: float, high: float) -> str:
    return f"{fmt.difference_text(low)} to {fmt.difference_text(high)}"


def _method_text(contribution: CauseContribution) -> str:
    words = contribution.method
    if contribution.method in ("measured", "read again") and contribution.orders < contribution.possible:
        return f"{words} {contribution.orders}/{contribution.possible}"
    return words


def remarks(explanation: DifferenceSplit) -> Iterator[str]:
    """Sentences on the assumptions behind the contributions."""
    for run in explanation.between:
        switched = " and ".join("the model" if name == "model" else name for name in run.switched)
        yield (f"{run.name} tells causes apart: as {explanation.second} in {switched}, else as {explanation.first}")
    joint = [share for share in explanation.shares if share.method == "together"]
    for share in joint:
        cause_count = len(share.causes)
        far = [(share.points + sign * 100 * (cause_count - 1)) / cause_count for sign in (-1, 1)]
        yield (
            f"{causes_text(share.causes)}: they differ together, so that these runs do not tell "
            f"how much of {fmt.difference_text(share.points)} is of which. "
            f"The ranges hold if none works against another on a question; without that each "
            f"may be anything from {_range_text(*far)}"
        )
    partly = [share for share in explanation.shares if share.method == "measured" and share.orders < share.possible]
    for share in partly[:1]:
        yield (
            f"of {share.possible} orders in which the causes can be switched {share.orders} "
            f"{'is' if share.orders == 1 else 'are'} measured; the ranges hold for all of them if "
            "no cause works against another on a question"
        )
    of_a_file = any(set(share.causes) >= _UNKNOWN_REQUESTS for share in explanation.shares)
    if open_combinations(explanation) and of_a_file:
        yield (
            "a file of predictions does not say how the model was asked; to tell these causes "
            "apart, compare two folders that `snellen run` wrote"
        )
    elif open_combinations(explanation):
        yield "to measure it: the same command with --ask, which tells the price first"
    if explanation.observed.reason:
        yield explanation.observed.reason


def example_lines(explanation: DifferenceSplit) -> Iterator[tuple[str, list[str]]]:
    """Differing samples of each cause, as lines under its name."""
    for share in explanation.shares:
        names = (explanation.first, explanation.second)
        lines = [line for sample in share.examples for line in _example_text(sample, names)]
        if lines:
            yield causes_text(share.causes), lines


def _example_text(example: DifferingSample, names: tuple[str, str]) -> Iterator[str]:
    """The question, and a line for each run with its name, score, parsed answer and reply."""
    yield f"{example.id}: {example.question}"
    yield f"  {example.detail}"
    width = max(map(len, names))
    for name, score, answer, reply in (
        (names[0], example.first_score, example.first_answer, example.first_reply),
        (names[1], example.second_score, example.second_answer, example.second_reply),
    ):
        score_text = "not scored" if score is None else f"{100 * score:.0f}"
        read = f"read as {answer}: " if answer is not None else ""
        yield f"  {name:<{width}}  {score_text:>3}  {read}{reply!r}"


Steps = Sequence[DifferenceSplit]
"""The split of each step from one run to the next."""
_LEVEL = 0.05


def adjusted_p(steps: Steps) -> list[float | None]:
    """The p of each step, adjusted for the number of steps (Holm); None where it has none."""
    return holm_of_tested([step.observed.p for step in steps])


def steps_document(steps: Steps) -> Document:
    """Notices, a row for each step, and a sentence; JSON has the split of each step and its
    adjusted p."""
    notices = dict.fromkeys(notice for step in steps for notice in step.notices)
    p_values = adjusted_p(steps)
    found = [{"p_holm": p, "split": step} for step, p in zip(steps, p_values, strict=True)]
    blocks: list[Block] = [
        *(Line(notice, "notice") for notice in notices),
        _steps_table(steps, p_values),
        Line(f"to quote: {verdict(steps)}", is_unbroken=True),
    ]
    return Document(blocks, {"steps": found})


def _steps_table(steps: Steps, p_values: Sequence[float | None]) -> Table:
    """A row for each step: the difference, its test, and its causes by their size."""

    def causes(step: DifferenceSplit) -> str:
        shares = sorted(step.shares, key=lambda share: -abs(share.points))
        return "; ".join(f"{causes_text(share.causes)} {fmt.difference_text(share.points)}" for share in shares)

    return table_of(
        f"{steps[0].benchmark}: {len(steps)} steps",
        zip(steps, p_values, strict=True),
        [
            (Column("step", "name"), lambda row: f"{row[0].first} to {row[0].second}"),
            (Column("causes"), lambda row: causes(row[0]) or fmt.NONE),
            (Column("points", "signed"), lambda row: row[0].observed.difference),
            (Column("95 % interval", "signed"), lambda row: row[0].observed.interval),
            (Column("p", "p"), lambda row: row[1]),
            (Column("samples", "count", is_optional=True), lambda row: row[0].observed.aligned),
        ],
    )


def verdict(steps: Steps) -> str:
    """Which steps changed the score, in a sentence to be quoted."""
    found = [
        f"{step.first} to {step.second} ({fmt.difference_text(step.observed.difference)} points, p {fmt.p_clause(p)})"
        for step, p in zip(steps, adjusted_p(steps), strict=True)
        if p is not None and p < _LEVEL
    ]
    n = fmt.count_text(min(step.observed.aligned for step in steps))
    tests = " and ".join(dict.fromkeys(step.observed.test for step in steps))
    which = f": {'; '.join(found)}" if found else ""
    return (
        f"On {steps[0].benchmark}, {len(found)} of the {len(steps)} steps from {steps[0].first} to "
        f"{steps[-1].second} changed the score at {_LEVEL:g} ({tests}, adjusted by Holm; "
        f"n = {n} or more questions a step){which}."
    )


def published_document(explanation: PublishedExplanation) -> Document:
    """Each published number with the settings that differ from its own, then what is known of how
    the makers ask the model."""
    blocks: list[Block] = [Line(f"{explanation.model} on {explanation.benchmark}", "heading")]
    for number in explanation.numbers:
        blocks += [EmptyLine(), *_number_blocks(number)]
    blocks.append(EmptyLine())
    if explanation.setup:
        source = f"{explanation.setup} ({explanation.setup_source})"
        blocks.append(Line(f"set-up of the makers: {source}"))
    else:
        blocks.append(Line("how the makers ask this model is not known"))
    if explanation.setup_note:
        blocks.append(Line(f"not applied of it: {explanation.setup_note}"))
    blocks += [Line(f"also: {sentence}") for sentence in explanation.deviations]
    return Document(blocks, explanation, _published_records(explanation))


def _number_blocks(number: PublishedNumberExplained) -> list[Block]:
    blocks: list[Block] = [Line(number.sentence), Line(f"{number.difference:+.1f}; {number.url}", is_unbroken=True)]
    if number.note:
        blocks.append(Line(number.note))
    if not number.settings:
        return [*blocks, Line("no setting is known to differ")]
    columns = [Column(name) for name in ("setting", "there", "here", "known by")]
    rows = [(one.setting, one.published, one.own, one.basis) for one in number.settings]
    return [*blocks, Table("", columns, rows)]


def _published_records(explanation: PublishedExplanation) -> Table:
    def settings(number: PublishedNumberExplained) -> str:
        return "; ".join(f"{one.setting}: {one.published} there, {one.own} here" for one in number.settings)

    return table_of(
        "",
        explanation.numbers,
        [
            (Column("model"), lambda number: explanation.model),
            (Column("benchmark"), lambda number: explanation.benchmark),
            (Column("published", "points"), lambda number: number.published),
            (Column("own", "points"), lambda number: number.own),
            (Column("difference", "signed"), lambda number: number.difference),
            (Column("url"), lambda number: number.url),
            (Column("settings that differ"), settings),
        ],
    )
