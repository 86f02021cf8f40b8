"""The statistics of a data set as sentences and tables, for every format alike, and as CSV."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from snellen.core.summary import Interval
from snellen.report import format as fmt
from snellen.report.document import Block, Cell, Column, Document, EmptyLine, IntervalEstimate, Line, Table
from snellen.stats.paired import holm
from snellen_curate.statistics.positions import PositionBalance, place_letter
from snellen_curate.statistics.results import DatasetStatistics, Distribution, GroupStatistics, ProbeScore, TextProbe
from snellen_curate.statistics.shortcuts import ShortcutTest
from snellen_curate.statistics.text_probe import ALL

KIND_NAMES = {
    "choice": "multiple choice",
    "multi": "several right",
    "yes_no": "yes or no",
    "open": "open",
    "place": "place",
    "fields": "record",
    "page": "page",
}
_DISTRIBUTION_COLUMNS = (
    Column("of"),
    Column("n", "count"),
    *(Column(name, "number") for name in ("mean", "sd", "min", "5 %", "25 %", "median", "75 %", "95 %", "max")),
)
NO_LABEL = "(none)"
_MAX_NAMED = 8
"""Groups that a finding names."""
MAX_GROUPS = 25
"""Groups of a column on the terminal; the other formats have all."""
CSV_COLUMNS = ("column", "group", "measure", "of", "value")
_SHORTCUT_COLUMNS = (
    Column("rule"),
    Column("n", "count"),
    Column("right %", "points"),
    Column("expected %", "points"),
    Column("p, corrected", "p"),
    Column("score by rule", "points", is_optional=True),
    Column("chance", "points", is_optional=True),
)


def statistics_document(statistics: DatasetStatistics, max_groups: int | None = None) -> Document:
    """Notices, findings and every table; of each grouping at most `max_groups` groups."""
    notices = (*statistics.notices, *findings(statistics))
    blocks: list[Block] = [Line(notice, "notice", is_unbroken=True) for notice in notices]
    for table in _tables(statistics, max_groups):
        blocks += [EmptyLine(), table] if blocks else [table]
    numbers = Table("", [Column(name) for name in CSV_COLUMNS], list(_numbers(statistics)))
    return Document(blocks, statistics, numbers)


def _tables(statistics: DatasetStatistics, max_groups: int | None) -> Iterator[Table]:
    yield _overview(statistics)
    words = statistics.words
    rows = {
        "question": words.question,
        "hint": words.hint,
        "option": words.option,
        "answer": words.answer,
        "longest / shortest option, characters": statistics.options.length_ratio,
    }
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
        title = "shortcuts: how often a rule picks the right option"
        yield Table(title, _SHORTCUT_COLUMNS, [*map(_shortcut, statistics.shortcuts)])
    if statistics.probe is not None:
        yield _probe(statistics.probe)
    for column, groups in statistics.groups.items():
        yield _groups(column, groups, max_groups)
        alarms = [
            [group.label or NO_LABEL, *_shortcut(test)]
            for group in groups
            for test in group.shortcuts
            if test.is_alarm()
        ]
        if alarms:
            title = f"shortcuts by {column}: those that chance does not explain"
            yield Table(title, (Column("group"), *_SHORTCUT_COLUMNS), alarms)


def findings(statistics: DatasetStatistics) -> Iterator[str]:
    """Sentences about what a maker of the data should look at, then about what is lacking."""
    positions = statistics.positions
    if positions.n and positions.is_alarm():
        yield (
            f"the right answers are not evenly placed (p {fmt.p_clause(positions.p_adjusted)}): {_places(positions)}"
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
            f"({fmt.interval_text(score.interval.scale()) if score.interval else fmt.NONE}), "
            f"guessing {_percent(score.chance)} %"
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


def _overview(statistics: DatasetStatistics) -> Table:
    rows: list[list[Cell]] = [["items", statistics.items]]
    if statistics.rows != statistics.items:
        rows.append(["rows", statistics.rows])
    rows += [[KIND_NAMES[kind], count] for kind, count in statistics.kinds.items()]
    rows.append(["distinct questions", statistics.distinct_questions])
    rows.append(["distinct words", statistics.distinct_words])
    if (yes_no := statistics.yes_no) is not None:
        rows.append(["answers yes / no", f"{yes_no.yes:,} / {yes_no.no:,}"])
    rows += [[f"without {what}", count] for what, count in statistics.missing.items() if count]
    return Table(statistics.name, (Column("what"), Column("count", "count")), rows)


def _distributions(title: str, rows: Mapping[str, Distribution | None]) -> Table:
    cells: list[list[Cell]] = [
        [name, one.n, *map(_number, (one.mean, one.deviation, one.min, *one.quantiles, one.max))]
        for name, one in rows.items()
        if one is not None
    ]
    return Table(title, _DISTRIBUTION_COLUMNS, cells)


def _number(value: float) -> str:
    """One decimal, two for small numbers; whole numbers and large ones without."""
    if value == int(value) or abs(value) >= 1_000:
        return f"{value:,.0f}"
    return f"{value:,.2f}" if abs(value) < 10 else f"{value:,.1f}"


def _option_counts(statistics: DatasetStatistics) -> Table:
    """Items by number of options, and those whose options are in order or equal."""
    options = statistics.options
    total = sum(options.counts.values())
    counts = {f"{count} options": items for count, items in options.counts.items()}
    in_order = (
        f"in ascending or descending order ({options.sorted_expected:,.1f} expected, "
        f"p {fmt.p_clause(options.sorted_p)})"
    )
    counts[in_order] = options.ascending + options.descending
    if options.equal:
        counts["with equal options"] = options.equal
    rows = [(name, count, 100 * count / total) for name, count in counts.items()]
    return Table("options", (Column("items with"), Column("items", "count"), Column("%", "points")), rows)


def _media_counts(statistics: DatasetStatistics) -> Table:
    media = statistics.media
    several = f"{media.several_images:,} ({media.images_of_several:,})"
    video = f"{media.video:,}" if media.frames is None else f"{media.video:,} ({media.frames:,})"
    heads = ("no media", "one image", "several images (images)", "video (frames)")
    columns = (Column("data"), *(Column(head, "count") for head in heads))
    row = (statistics.name, media.none, media.one_image, several, video)
    return Table("items by media", columns, [row])


def _positions(positions: PositionBalance) -> Table:
    """Right answers by place, for each number of options, with the chi-square test."""
    most = max(positions.counts)
    rows: list[list[Cell]] = [
        [f"{options} options", *counts, *[""] * (most - options), sum(counts)]
        for options, counts in positions.counts.items()
    ]
    rows.append(["all", *positions.by_place, positions.n])
    expected = (f"{value:,.1f}" for value in positions.chance_by_place)
    rows.append(["expected", *expected, positions.n])
    title = (
        f"places of the right answer: test of even places p {fmt.p_clause(positions.p)} "
        f"(chi-square {positions.statistic:.1f}, {positions.freedom} df)"
    )
    heads = (*map(place_letter, range(most)), "n")
    columns = (Column("items with"), *(Column(head, "count") for head in heads))
    return Table(title, columns, rows, baselines=2)


def _baselines(statistics: DatasetStatistics) -> Table:
    baselines = statistics.baselines
    scores = {
        "guessing": baselines.chance,
        "guessing, CircularEval": baselines.circular,
        "guessing, CircularEval, same text in all rotations": baselines.circular_same_text,
        "most frequent place, of the other half": baselines.frequent,
        "most frequent place, of all items": baselines.frequent_in_sample,
    }
    scores |= {
        f"most frequent place of each {column}, mean over groups": score
        for column, score in statistics.frequent_by_group.items()
        if score
    }
    title = f"baselines on {fmt.plural(baselines.n, 'item')} with an answer"
    rows = [(name, 100 * score) for name, score in scores.items()]
    return Table(title, (Column("answer by"), Column("score", "points")), rows)


def _shortcut(test: ShortcutTest) -> list[Cell]:
    return [
        test.rule,
        test.n,
        _points(test.share, test.interval),
        100 * test.expected,
        fmt.p_text(test.p_adjusted) + (" *" if test.is_alarm() else ""),
        100 * test.score,
        100 * test.chance,
    ]


def _points(share: float, interval: Interval | None) -> IntervalEstimate:
    """A share with its interval, in percent."""
    return IntervalEstimate(100 * share, interval.scale() if interval is not None else None)


def _probe(probe: TextProbe) -> Table:
    of = "" if probe.items == probe.of else f" of {probe.of:,}"
    title = f"texts alone: a classifier on {probe.items:,}{of} closed questions, {probe.folds} folds"
    rows = [
        (score.features, _points(score.share, score.interval), 100 * score.chance, score.p) for score in probe.scores
    ]
    columns = (Column("sees"), Column("right %", "points"), Column("chance", "points"), Column("p", "p"))
    return Table(title, columns, rows)


def _groups(column: str, groups: Sequence[GroupStatistics], max_groups: int | None) -> Table:
    shown = groups if max_groups is None else groups[:max_groups]
    rest = len(groups) - len(shown)
    title = f"by {column}" + (f" (the {len(shown)} largest of {len(groups):,})" if rest else "")
    columns = (
        Column(column),
        Column("items", "count"),
        Column("question words", "number"),
        Column("option words", "number"),
        Column("answer words", "number"),
        Column("options", "number"),
        Column("images", "count"),
        Column("videos", "count"),
        Column("chance", "points"),
        Column("frequent", "points"),
        Column("longest right %", "points"),
        Column("expected %", "points"),
        Column("places p", "p"),
    )
    return Table(title, columns, [*map(_group, shown)])


def _group(group: GroupStatistics) -> list[Cell]:
    longest = next((test for test in group.shortcuts if test.rule == "longest"), None)
    words = group.words
    places = group.positions
    return [
        group.label or NO_LABEL,
        group.items,
        _mean_sd(words.question),
        _mean_sd(words.option),
        _mean_sd(words.answer),
        None if group.options is None else group.options.mean,
        group.images,
        group.videos,
        100 * group.baselines.chance,
        100 * group.baselines.frequent,
        None if longest is None else 100 * longest.share,
        None if longest is None else 100 * longest.expected,
        places.p_adjusted if places.freedom else None,
    ]


def _mean_sd(values: Distribution | None) -> str | None:
    return None if values is None else f"{values.mean:.1f} ± {values.deviation:.1f}"


def _places(positions: PositionBalance) -> str:
    parts = zip(positions.by_place, positions.chance_by_place, strict=True)
    return ", ".join(
        f"{place_letter(place)} {count:,} of {expected:,.1f} expected" for place, (count, expected) in enumerate(parts)
    )


def _percent(share: float) -> str:
    return fmt.score_text(100 * share)


def _numbers(statistics: DatasetStatistics) -> Iterator[tuple[Any, ...]]:
    """One row for each number, not rounded; `column` and `group` are empty for all items.

    `measure` and `of` are the path of the number in the JSON, e.g. `words` and `question.mean`.
    """
    content = msgspec.to_builtins(statistics)
    groups = content.pop("groups")
    parts = [("", "", content)]
    parts += [(column, group.pop("label"), group) for column in groups for group in groups[column]]
    for column, label, measures in parts:
        for measure, value in measures.items():
            for path, number in _leaves(value):
                yield (column, label, measure, ".".join(path), number)


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
    return next((str(named[key]) for key in ("rule", "features") if key in named), str(index))
