"""The statistics of a data set as sentences and tables, for every format alike, and as CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import msgspec

from snellen.core.csv_cells import text_cells
from snellen.core.summary import Interval
from snellen.report import format as fmt
from snellen.report.result_tables import ResultTable
from snellen.stats.paired import holm
from snellen_curate.statistics.positions import PositionBalance
from snellen_curate.statistics.results import (
    DatasetStatistics,
    Distribution,
    GroupStatistics,
    ProbeScore,
)
from snellen_curate.statistics.shortcuts import ShortcutTest
from snellen_curate.statistics.text_probe import ALL
from snellen_curate.step_report import (
    StepReport,
    print_report,
    report_latex,
    report_markdown,
)

if TYPE_CHECKING:
    from rich.console import Console

KIND_NAMES = {"choice": "multiple choice", "multi": "several right", "yes_no": "yes or no",
              "open": "open"}  # fmt: skip
_DISTRIBUTION_HEADS = (
    "of", "n", "mean", "sd", "min", "5 %", "25 %", "median", "75 %", "95 %", "max",
)  # fmt: skip
NO_LABEL = "(none)"
_MAX_NAMED = 8
"""Groups that a finding names."""
MAX_GROUPS = 25
"""Groups of a column on the terminal; the other formats have all."""
CSV_COLUMNS = ("column", "group", "measure", "of", "value")


def statistics_report(statistics: DatasetStatistics, max_groups: int | None = None) -> StepReport:
    """Notices, findings and every table; of each grouping at most `max_groups` groups."""
    notices = (*statistics.notices, *findings(statistics))
    return StepReport(notices, (), tuple(_tables(statistics, max_groups)))


def print_statistics(statistics: DatasetStatistics, console: Console) -> None:
    print_report(statistics_report(statistics, MAX_GROUPS), console)


def _tables(statistics: DatasetStatistics, max_groups: int | None) -> Iterator[ResultTable]:
    yield _overview(statistics)
    words = statistics.words
    rows = {"question": words.question, "hint": words.hint, "option": words.option,
            "answer": words.answer,
            "longest / shortest option, characters": statistics.options.length_ratio}  # fmt: skip
    yield _distributions("words", rows)
    if statistics.options.counts:
        yield _option_counts(statistics)
    yield _media_counts(statistics)
    for name, media in (("images", statistics.images), ("videos", statistics.videos)):
        if media is not None and media.measures:
            lost = f", {media.unreadable:,} unreadable" if media.unreadable else ""
            formats = ", ".join(f"{count:,} {name}" for name, count in media.formats.items())
            title = f"{name}: {media.uses:,}, {media.distinct:,} distinct{lost}"
            yield _distributions(f"{title}; {formats}" if formats else title, media.measures)
    if statistics.positions.n:
        yield _positions(statistics.positions)
    if statistics.baselines.n:
        yield _baselines(statistics)
    if statistics.shortcuts:
        yield ResultTable("shortcuts: how often a rule picks the right option", _SHORTCUT_HEADS,
                          tuple(map(_shortcut, statistics.shortcuts)))  # fmt: skip
    if statistics.probe is not None:
        yield _probe(statistics)
    for column, groups in statistics.groups.items():
        yield _groups(column, groups, max_groups)
        alarms = [(group.label or NO_LABEL, *_shortcut(test))
                  for group in groups for test in group.shortcuts if test.is_alarm()]  # fmt: skip
        if alarms:
            title = f"shortcuts by {column}: those that chance does not explain"
            yield ResultTable(title, ("group", *_SHORTCUT_HEADS), tuple(alarms), texts=2)


def findings(statistics: DatasetStatistics) -> Iterator[str]:
    """Sentences about what a maker of the data should look at, then about what is lacking."""
    positions = statistics.positions
    if positions.n and positions.is_alarm():
        yield (
            f"the right answers are not evenly placed (p {fmt.p_clause(positions.p_adjusted)}): "
            f"{_places(positions)}"
        )
    for test in statistics.shortcuts:
        if test.is_alarm():
            often = "too often" if test.excess > 0 else "too rarely"
            yield (
                f"{test.rule}: right {often}, in {_percent(test.share)} % of {test.n:,} questions "
                f"where {_percent(test.expected)} % were expected "
                f"(p {fmt.p_clause(test.p_adjusted)})"
            )
    yes_no = statistics.yes_no
    if yes_no is not None and yes_no.p <= 0.05:
        yield (
            f"yes is the answer to {yes_no.yes:,} of {yes_no.yes + yes_no.no:,} yes/no questions "
            f"(p {fmt.p_clause(yes_no.p)})"
        )
    probe = statistics.probe
    for score in better_than_chance(probe.scores) if probe is not None else ():
        part = "" if score.features == ALL else f" by {score.features}"
        yield (
            f"texts alone answer {_percent(score.share)} % of the closed questions{part} "
            f"({_percent_interval(score.interval)}), guessing {_percent(score.chance)} %"
        )
    for column, groups in statistics.groups.items():
        uneven = [group.label or NO_LABEL for group in groups if group.positions.is_alarm()]
        if uneven:
            named = ", ".join(uneven[:_MAX_NAMED])
            more = len(uneven) - _MAX_NAMED
            named += f" and {more} more" if more > 0 else ""
            yield f"right answers are not evenly placed in {column} {named}"
    options = statistics.options
    if options.equal:
        yield f"{fmt.plural(options.equal, 'item')} with two options of the same text"


def better_than_chance(scores: Sequence[ProbeScore]) -> list[ProbeScore]:
    """The whole classifier, if it is better than chance; else the parts that are, corrected for
    their number."""
    whole, *parts = scores
    if whole.p <= 0.05:
        return [whole]
    adjusted = holm([part.p for part in parts])
    return [part for part, p in zip(parts, adjusted, strict=True) if p <= 0.05]


def _overview(statistics: DatasetStatistics) -> ResultTable:
    rows = [("items", fmt.count_text(statistics.items))]
    if statistics.rows != statistics.items:
        rows.append(("rows", fmt.count_text(statistics.rows)))
    rows += [(KIND_NAMES[kind], fmt.count_text(count)) for kind, count in statistics.kinds.items()]
    rows += [
        ("distinct questions", fmt.count_text(statistics.distinct_questions)),
        ("distinct words", fmt.count_text(statistics.distinct_words)),
    ]
    if statistics.yes_no is not None:
        rows.append(("answers yes / no", f"{statistics.yes_no.yes:,} / {statistics.yes_no.no:,}"))
    rows += [
        (f"without {what}", fmt.count_text(count))
        for what, count in statistics.missing.items()
        if count
    ]
    return ResultTable(statistics.name, ("what", "count"), tuple(rows))


def _distributions(title: str, rows: Mapping[str, Distribution | None]) -> ResultTable:
    cells = tuple(
        (name, fmt.count_text(one.n),
         *map(_number, (one.mean, one.deviation, one.min, *one.quantiles, one.max)))
        for name, one in rows.items() if one is not None
    )  # fmt: skip
    return ResultTable(title, _DISTRIBUTION_HEADS, cells)


def _number(value: float) -> str:
    """One decimal, two for small numbers; whole numbers and large ones without."""
    if value == int(value) or abs(value) >= 1_000:
        return f"{value:,.0f}"
    return f"{value:,.2f}" if abs(value) < 10 else f"{value:,.1f}"


def _option_counts(statistics: DatasetStatistics) -> ResultTable:
    """Items by number of options, and those whose options are in order or equal."""
    options = statistics.options
    total = sum(options.counts.values())
    rows = [
        (f"{count} options", fmt.count_text(items), _percent(items / total))
        for count, items in options.counts.items()
    ]
    in_order = options.ascending + options.descending
    rows.append(
        (
            f"in ascending or descending order ({options.sorted_expected:,.1f} expected, "
            f"p {fmt.p_clause(options.sorted_p)})",
            fmt.count_text(in_order),
            _percent(in_order / total),
        )
    )
    if options.equal:
        rows.append(
            ("with equal options", fmt.count_text(options.equal), _percent(options.equal / total))
        )
    return ResultTable("options", ("items with", "items", "%"), tuple(rows))


def _media_counts(statistics: DatasetStatistics) -> ResultTable:
    media = statistics.media
    several = f"{media.several_images:,} ({media.images_of_several:,})"
    video = f"{media.video:,}" if media.frames is None else f"{media.video:,} ({media.frames:,})"
    counts = (fmt.count_text(media.none), fmt.count_text(media.one_image), several, video)
    heads = ("data", "no media", "one image", "several images (images)", "video (frames)")
    return ResultTable("items by media", heads, ((statistics.name, *counts),))


def _positions(positions: PositionBalance) -> ResultTable:
    """Right answers by place, for each number of options, with the chi-square test."""
    most = max(positions.counts)
    rows = [
        (
            f"{options} options",
            *(fmt.count_text(count) for count in counts),
            *("" for _ in range(most - options)),
            fmt.count_text(sum(counts)),
        )
        for options, counts in positions.counts.items()
    ]
    expected = positions.chance_by_place
    rows.append(("all", *map(fmt.count_text, positions.by_place), fmt.count_text(positions.n)))
    rows.append(("expected", *(f"{value:,.1f}" for value in expected), fmt.count_text(positions.n)))
    title = (
        f"places of the right answer: test of even places p {fmt.p_clause(positions.p)} "
        f"(chi-square {positions.statistic:.1f}, {positions.freedom} df)"
    )
    letters = tuple(map(place_letter, range(most)))
    return ResultTable(title, ("items with", *letters, "n"), tuple(rows))


def _baselines(statistics: DatasetStatistics) -> ResultTable:
    baselines = statistics.baselines
    rows = [
        ("guessing", _percent(baselines.chance)),
        ("guessing, CircularEval", _percent(baselines.circular)),
        ("guessing, CircularEval, same text in all rotations",
         _percent(baselines.circular_same_text)),
        ("most frequent place, of the other half", _percent(baselines.frequent)),
        ("most frequent place, of all items", _percent(baselines.frequent_in_sample)),
    ]  # fmt: skip
    rows += [
        (f"most frequent place of each {column}, mean over groups", _percent(score))
        for column, score in statistics.frequent_by_group.items()
        if score
    ]
    title = f"baselines on {fmt.plural(baselines.n, 'item')} with an answer"
    return ResultTable(title, ("answer by", "score"), tuple(rows))


_SHORTCUT_HEADS = (
    "rule", "n", "right %", "95 % interval", "expected %", "p, corrected", "score by rule",
    "chance",
)  # fmt: skip


def _shortcut(test: ShortcutTest) -> tuple[str, ...]:
    return (
        test.rule,
        fmt.count_text(test.n),
        _percent(test.share),
        _percent_interval(test.interval),
        _percent(test.expected),
        fmt.p_text(test.p_adjusted) + (" *" if test.is_alarm() else ""),
        _percent(test.score),
        _percent(test.chance),
    )


def _probe(statistics: DatasetStatistics) -> ResultTable:
    probe = statistics.probe
    assert probe is not None
    of = "" if probe.items == probe.of else f" of {probe.of:,}"
    title = (
        f"texts alone: a classifier on {probe.items:,}{of} closed questions, {probe.folds} folds"
    )
    rows = tuple(
        (
            score.features,
            _percent(score.share),
            _percent_interval(score.interval),
            _percent(score.chance),
            fmt.p_text(score.p),
        )
        for score in probe.scores
    )
    return ResultTable(title, ("sees", "right %", "95 % interval", "chance", "p"), rows)


def _groups(column: str, groups: Sequence[GroupStatistics], max_groups: int | None) -> ResultTable:
    shown = groups if max_groups is None else groups[:max_groups]
    rest = len(groups) - len(shown)
    title = f"by {column}" + (f" (the {len(shown)} largest of {len(groups):,})" if rest else "")
    heads = (
        column, "items", "question words", "option words", "answer words", "options", "images",
        "videos", "chance", "frequent", "longest right %", "expected %", "places p",
    )  # fmt: skip
    return ResultTable(title, heads, tuple(map(_group, shown)))


def _group(group: GroupStatistics) -> tuple[str, ...]:
    longest = next((test for test in group.shortcuts if test.rule == "longest"), None)
    words = group.words
    places = group.positions
    return (
        group.label or NO_LABEL,
        fmt.count_text(group.items),
        _mean_sd(words.question),
        _mean_sd(words.option),
        _mean_sd(words.answer),
        fmt.NONE if group.options is None else f"{group.options.mean:.1f}",
        fmt.count_text(group.images),
        fmt.count_text(group.videos),
        _percent(group.baselines.chance),
        _percent(group.baselines.frequent),
        fmt.NONE if longest is None else _percent(longest.share),
        fmt.NONE if longest is None else _percent(longest.expected),
        fmt.p_text(places.p_adjusted) if places.freedom else fmt.NONE,
    )


def _mean_sd(values: Distribution | None) -> str:
    return fmt.NONE if values is None else f"{values.mean:.1f} ± {values.deviation:.1f}"


def _places(positions: PositionBalance) -> str:
    parts = zip(positions.by_place, positions.chance_by_place, strict=True)
    return ", ".join(
        f"{place_letter(place)} {count:,} of {expected:,.1f} expected"
        for place, (count, expected) in enumerate(parts)
    )


def place_letter(place: int) -> str:
    """A place among the options, from 0, as a reader knows it."""
    return chr(ord("A") + place) if place < 26 else str(place + 1)


def _percent(share: float) -> str:
    return fmt.score_text(100 * share)


def _percent_interval(interval: Interval | None) -> str:
    return fmt.NONE if interval is None else fmt.interval_text(interval.scale())


def to_csv(statistics: DatasetStatistics) -> str:
    """One line for each number, not rounded; `column` and `group` are empty for all items.

    `measure` and `of` are the path of the number in the JSON, e.g. `words` and `question.mean`.
    """
    content = msgspec.to_builtins(statistics)
    groups = content.pop("groups")
    parts = [("", "", content)]
    parts += [(column, group.pop("label"), group) for column in groups for group in groups[column]]
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(CSV_COLUMNS)
    for column, label, measures in parts:
        for measure, value in measures.items():
            for path, number in _leaves(value):
                writer.writerow(text_cells((column, label, measure, ".".join(path), number)))
    return file.getvalue()


def _leaves(value: object) -> Iterator[tuple[tuple[str, ...], object]]:
    """Numbers with their path; elements of lists that have a name go by it."""
    inner: Mapping[str, object] = {}
    if isinstance(value, Mapping):
        inner = value
    elif isinstance(value, list | tuple):
        inner = {_element_name(index, one): one for index, one in enumerate(value)}
    elif isinstance(value, int | float):
        yield (), value
    for key, one in inner.items():
        for path, number in _leaves(one):
            yield (str(key), *path), number


def _element_name(index: int, element: object) -> str:
    named = element if isinstance(element, Mapping) else {}
    return next((str(named[key]) for key in ("rule", "features") if key in named),
                str(index))  # fmt: skip


STATISTICS_EXPORTS: Mapping[str, Callable[[DatasetStatistics], str]] = {
    "csv": to_csv,
    "markdown": lambda statistics: report_markdown(statistics_report(statistics)),
    "latex": lambda statistics: report_latex(statistics_report(statistics)),
}
