"""What `snellen compare` says: tables for the terminal, Markdown, JSON."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain, product
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from snellen.analysis.comparison.groups import GroupDifference
from snellen.analysis.comparison.paired import (
    BenchmarkComparison,
    PairDifference,
    RunComparison,
    RunRank,
)
from snellen.report import format as fmt
from snellen.report.console import natural_width
from snellen.report.markdown import bullets, literal, table
from snellen.stats.paired import MIN_CLUSTERS
from snellen.store.runs import RunFolder

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

GROUPS = 5
"""Groups shown of each pair."""
PAIRS = 3
"""Most pairs whose groups are shown; JSON holds all."""


class TextTable(NamedTuple):
    """A table: its title, its headings (numbers stand right of the first `text_columns` columns), rows."""

    title: str
    text_columns: int
    headings: Sequence[str]
    rows: Sequence[Sequence[str]]


def comparison_names(runs: Sequence[RunFolder], shared_limit: bool = True) -> list[str]:
    """A name for each run, told apart from the others of its benchmark: by what `run_info_labels` says,
    else by the digest of its configuration, else by its path. Without `shared_limit` a limit that
    all runs of a benchmark have is left out."""
    by_benchmark: dict[str, list[int]] = {}
    for at, run in enumerate(runs):
        by_benchmark.setdefault(run.info.benchmark, []).append(at)
    names = [""] * len(runs)
    for members in by_benchmark.values():
        infos = [runs[at].info for at in members]
        limits = shared_limit or len({info.config.limit for info in infos}) > 1
        called, folders = fmt.run_info_labels(infos, limits), [info.name for info in infos]
        for at, name in zip(members, called, strict=True):
            if called.count(name) > 1:
                twice = folders.count(runs[at].info.name) > 1
                name += f" [{runs[at].path if twice else runs[at].info.name[-8:]}]"
            names[at] = name
    return names


def comparison_tables(comparison: RunComparison) -> Iterator[TextTable]:
    """Ranks of each benchmark, then the differences, then the groups where a pair differs most."""
    for one in comparison.benchmarks:
        yield _ranks_table(one, comparison.level)
    yield _differences_table(comparison)
    for pair in comparison.pairs if len(comparison.pairs) <= PAIRS else ():
        told = [one for one in pair.groups if one.difference][:GROUPS]
        if told:
            yield _groups_table(pair, told, comparison.level)


def _ranks_table(ranking: BenchmarkComparison, level: float) -> TextTable:
    rows = [
        (
            place.run,
            fmt.score_text(place.score),
            str(place.rank),
            _rank_range(place),
            fmt.NONE if place.first is None else f"{100 * place.first:.0f} %",
        )
        for place in sorted(ranking.places, key=lambda place: place.rank)
    ]
    title = f"{ranking.benchmark}  {fmt.metric_label(ranking.metric)}, {fmt.plural(ranking.n, 'sample')}"
    return TextTable(title, 1, ("run", "score", "rank", f"{100 * level:g} % ranks", "best"), rows)


def _rank_range(rank: RunRank) -> str:
    if rank.low is None:
        return fmt.NONE
    return str(rank.low) if rank.low == rank.high else f"{rank.low}–{rank.high}"


def _differences_table(
    comparison: RunComparison, letters: Mapping[str, str] | None = None
) -> TextTable:
    """`letters` stand for the names of runs, where these are too long."""
    letters = letters or {}
    several = len({pair.benchmark for pair in comparison.pairs}) > 1
    failed = any(pair.bounds for pair in comparison.pairs)
    rows = [
        (
            *([pair.benchmark] if several else []),
            f"{letters.get(pair.second, pair.second)} – {letters.get(pair.first, pair.first)}",
            fmt.difference_text(pair.difference),
            fmt.difference_interval_text(pair.interval),
            *([_bounds_text(pair)] if failed else []),
            f"+{fmt.count_text(pair.second_better)} –{fmt.count_text(pair.first_better)}",
            fmt.p_text(pair.p_holm),
            fmt.score_text(pair.detectable),
            _needed_samples(pair),
        )
        for pair in comparison.pairs
    ]
    p = "p" if len(comparison.pairs) == 1 else "Holm p"
    head = (
        "pair" if letters else "difference",  # beside letters a long word would be folded
        "points",
        f"{100 * comparison.level:g} % interval",
        *(["with failures"] if failed else []),
        "samples",
        p,
    )
    first = ("benchmark",) if several else ()
    return TextTable("", 1 + several, (*first, *head, "finds", "needs"), rows)


def _bounds_text(pair: PairDifference) -> str:
    if pair.bounds is None:
        return fmt.NONE
    return " to ".join(map(fmt.difference_text, pair.bounds))


def _needed_samples(pair: PairDifference) -> str:
    """A range of samples, with two digits that matter: the ends of an interval tell no more."""
    if pair.needed is None:
        return fmt.NONE
    low, high = (fmt.count_text(int(float(f"{many:.2g}"))) for many in pair.needed)
    return low if low == high else f"{low}–{high}"


def _groups_table(
    pair: PairDifference, differences: Sequence[GroupDifference], level: float
) -> TextTable:
    rows = [
        (
            f"{fmt.display_name(one.column)}: {fmt.display_name(one.label)}",
            fmt.difference_text(one.difference),
            fmt.difference_interval_text(one.interval),
            fmt.count_text(one.n),
            fmt.p_text(one.p_holm),
        )
        for one in differences
    ]
    title = f"{pair.second} – {pair.first} on {pair.benchmark}: where they differ most"
    return TextTable(
        title, 1, ("group", "points", f"{100 * level:g} % interval", "n", "Holm p"), rows
    )


def verdicts(comparison: RunComparison) -> Iterator[str]:
    """A sentence for each pair."""
    for pair in comparison.pairs:
        yield verdict(pair, comparison)


def verdict(pair: PairDifference, comparison: RunComparison) -> str:
    """Whether the difference is told apart from chance, what could tell it, and whether the runs
    are as good as each other but for the margin. Where a rule ended a run early, the anytime
    interval must leave out 0, too."""
    return (
        _verdict_clause(pair, comparison)
        + _failure_clause(pair, comparison)
        + _within_clause(pair, comparison)
        + _stop_clause(pair)
    )


def _stop_clause(pair: PairDifference) -> str:
    if pair.anytime is None:
        return ""
    level, span = f"{100 * pair.anytime.level:g} %", fmt.difference_interval_text(pair.anytime)
    return f"; a run stopped early, the {level} anytime interval of the difference is {span}"


def _is_significant(pair: PairDifference, comparison: RunComparison) -> bool:
    """Whether one of the two is better at the level of the comparison."""
    unsure = pair.anytime is not None and pair.anytime.low <= 0 <= pair.anytime.high
    return pair.p_holm is not None and pair.p_holm < 1 - comparison.level and not unsure


def _verdict_clause(pair: PairDifference, comparison: RunComparison) -> str:
    if _is_significant(pair, comparison) and pair.p_holm is not None:
        higher, lower = (
            (pair.second, pair.first) if pair.difference > 0 else (pair.first, pair.second)
        )
        better = f"{higher} is better than {lower} on {pair.benchmark}"
        adjusted = "after Holm, " if len(comparison.pairs) > 1 else ""
        return f"{better} (p {fmt.p_clause(pair.p_holm)}, {adjusted}{pair.test})"
    text = f"{pair.benchmark}: {pair.second} and {pair.first} cannot be told apart"
    if pair.reason:
        text += f"; {pair.reason}"
    elif pair.detectable is not None:
        text += (
            f"; {fmt.plural(pair.n, 'sample')} find a true difference of "
            f"{fmt.score_text(pair.detectable)} points with a power of {100 * comparison.power:g} %"
        )
    return text


def _failure_clause(pair: PairDifference, comparison: RunComparison) -> str:
    """Whether failures could turn a difference that is told apart."""
    if pair.bounds is None or not _is_significant(pair, comparison):
        return ""
    against = pair.bounds[0] if pair.difference > 0 else pair.bounds[1]
    if against * pair.difference > 0:
        return ""
    return (
        "; not so if every sample that failed or is missing were against it: the difference would "
        f"be {fmt.difference_text(against)}"
    )


def _within_clause(pair: PairDifference, comparison: RunComparison) -> str:
    if comparison.margin is None:
        return ""
    points, alpha = f"{comparison.margin:g} {_points_text(comparison.margin)}", 1 - comparison.level
    one = pair.margin
    if one is None:
        return f"; nothing can be said of a margin of {points}"
    if one.equivalent_holm < alpha:
        p = fmt.p_clause(one.equivalent_holm)
        return f"; equivalent within {points} (p {p}, two one-sided tests)"
    if _is_significant(pair, comparison):
        return ""
    for p_value, run, other in (
        (one.second_no_worse_holm, pair.second, pair.first),
        (one.first_no_worse_holm, pair.first, pair.second),
    ):
        if p_value < alpha:
            return (
                f"; {run} is no worse than {other} by more than {points} "
                f"(p {fmt.p_clause(p_value)}, one-sided)"
            )
    return f"; neither is shown to be no worse than the other by more than {points}"


def _points_text(value: float) -> str:
    return "point" if value == 1 else "points"


def legend(comparison: RunComparison) -> str:
    """What the columns mean."""
    tests = " and ".join(dict.fromkeys(pair.test for pair in comparison.pairs))
    many = len(comparison.pairs)
    level = f"{100 * (1 - comparison.level):.2g} %"
    adjusted, alone = "", ""
    if many > 1:
        adjusted = f", adjusted by Holm for {many} comparisons"
        alone = "interval: of each pair alone; "
    p = f"p by {tests}{adjusted}; told apart: p below {level}; "
    if all(pair.p is None for pair in comparison.pairs):
        p = ""
    failed = (
        "with failures: the difference if all samples that failed or are missing spoke against "
        "the first named run, and for it; "
        if any(pair.bounds for pair in comparison.pairs)
        else ""
    )
    power = f"a power of {100 * comparison.power:g} % at the {level} level"
    return (
        f"{failed}{alone}samples: won and lost; {p}finds: the least true difference found with "
        f"{power}; needs: samples that find the far and the near end of the interval "
        "with that power, – where it includes 0"
    )


def groups_legend(comparison: RunComparison) -> str:
    """What the p and the intervals of groups are about; empty where none is listed."""
    groups = [one for pair in comparison.pairs for one in pair.groups]
    if len(comparison.pairs) > PAIRS or not any(one.difference for one in groups):
        return ""
    tested = sum(one.p_holm is not None for one in groups)
    if not tested:
        return f"groups: fewer than {MIN_CLUSTERS} clusters of samples have no p and no interval"
    return f"groups: interval of each alone; p adjusted by Holm for all {tested} groups tested here"


def notices(comparison: RunComparison) -> Iterator[str]:
    yield from comparison.notices
    for one in comparison.benchmarks:
        for notice in one.notices:
            yield f"{one.benchmark}: {notice}"
        if one.unscored:
            yield (
                f"{one.benchmark}: {fmt.plural(one.unscored, 'sample')} not scored in all runs, "
                "left out of the comparison"
            )


def print_comparison(comparison: RunComparison, console: Console) -> None:
    """Notices, tables, what the columns mean, and a sentence for each pair. In a narrow console
    letters stand for the runs in the table of differences."""
    from rich.text import Text

    for notice in notices(comparison):
        console.print(Text(f"! {notice}", style="yellow"))
    for grid in comparison_tables(comparison):
        if grid.title:
            console.print(Text(grid.title, style="bold"))
        if not grid.title and not _fits_console(grid, console):
            letters = _run_letters(comparison)
            for name, letter in letters.items():
                console.print(Text(f"{letter}: {name}"))
            grid = _differences_table(comparison, letters)
        console.print(rich_table(grid))
        if not grid.title:
            console.print(Text(legend(comparison), style="dim"))
        console.print()
    if groups_legend(comparison):
        console.print(Text(f"{groups_legend(comparison)}\n", style="dim"))
    for line in verdicts(comparison):
        console.print(Text(line))


def _run_letters(comparison: RunComparison) -> dict[str, str]:
    """A letter for each run of the differences, in the order of the ranks: A to Z, then AA."""
    names = dict.fromkeys(
        place.run
        for one in comparison.benchmarks
        for place in sorted(one.places, key=lambda place: place.rank)
    )
    alphabet = [chr(ord("A") + at) for at in range(26)]
    letters = chain(alphabet, (a + b for a, b in product(alphabet, alphabet)))
    return dict(zip(names, letters, strict=False))


def _fits_console(table: TextTable, console: Console) -> bool:
    """Whether no cell must be folded."""
    return natural_width(rich_table(table), console) <= console.width


def rich_table(text_table: TextTable) -> Table:
    """A grid as a table of the terminal."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(
        box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1), header_style="", show_edge=False
    )
    for at, heading in enumerate(text_table.headings):
        words = at < text_table.text_columns
        table.add_column(
            Text(heading),
            justify="left" if words else "right",
            no_wrap=not words,
            overflow="fold",
        )
    for row in text_table.rows:
        table.add_row(*map(Text, row))
    return table


def to_markdown(comparison: RunComparison) -> str:
    lines = bullets(notices(comparison))
    for grid in comparison_tables(comparison):
        lines += ["", *markdown_lines(grid)]
        if not grid.title:
            lines += ["", literal(legend(comparison))]
    if groups_legend(comparison):
        lines += ["", literal(groups_legend(comparison))]
    lines += ["", *bullets(verdicts(comparison))]
    return "\n".join(lines).strip() + "\n"


def markdown_lines(text_table: TextTable) -> Iterator[str]:
    """The lines of a grid as a Markdown table."""
    if text_table.title:
        yield f"**{literal(text_table.title)}**"
        yield ""
    yield from table(
        text_table.headings,
        text_table.rows,
        right=range(text_table.text_columns, len(text_table.headings)),
    )


def to_json(comparison: RunComparison) -> str:
    """One object, percentages and p-values unrounded."""
    return msgspec.json.encode(comparison).decode() + "\n"


COMPARISON_EXPORTS: Mapping[str, Callable[[RunComparison], str]] = {
    "json": to_json,
    "markdown": to_markdown,
}
