"""What `snellen compare` says: tables for the terminal, Markdown, JSON."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain, product
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from snellen.analysis.comparison.groups import GroupDifference
from snellen.analysis.comparison.paired import Compared, Comparison, Pair, Place
from snellen.report import format as fmt
from snellen.report.console import own_width
from snellen.report.markdown import bullets, literal, table
from snellen.stats.paired import FEWEST_CLUSTERS
from snellen.store.runs import RunFolder

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

GROUPS = 5
"""Groups shown of each pair."""
PAIRS = 3
"""Most pairs whose groups are shown; JSON holds all."""


class Grid(NamedTuple):
    """A table: its title, its headings (numbers stand right of the first `text` columns), rows."""

    title: str
    text: int
    headings: Sequence[str]
    rows: Sequence[Sequence[str]]


def names_of(runs: Sequence[RunFolder], shared_limit: bool = True) -> list[str]:
    """A name for each run, told apart from the others of its benchmark: by what `run_names` says,
    else by the digest of its configuration, else by its path. Without `shared_limit` a limit that
    all runs of a benchmark have is left out."""
    by_benchmark: dict[str, list[int]] = {}
    for at, run in enumerate(runs):
        by_benchmark.setdefault(run.info.benchmark, []).append(at)
    names = [""] * len(runs)
    for members in by_benchmark.values():
        infos = [runs[at].info for at in members]
        limits = shared_limit or len({info.config.limit for info in infos}) > 1
        called, folders = fmt.run_names(infos, limits), [info.name for info in infos]
        for at, name in zip(members, called, strict=True):
            if called.count(name) > 1:
                twice = folders.count(runs[at].info.name) > 1
                name += f" [{runs[at].path if twice else runs[at].info.name[-8:]}]"
            names[at] = name
    return names


def grids(found: Comparison) -> Iterator[Grid]:
    """Ranks of each benchmark, then the differences, then the groups where a pair differs most."""
    for one in found.benchmarks:
        yield _ranks(one, found.level)
    yield _differences(found)
    for pair in found.pairs if len(found.pairs) <= PAIRS else ():
        told = [one for one in pair.groups if one.difference][:GROUPS]
        if told:
            yield _groups(pair, told, found.level)


def _ranks(one: Compared, level: float) -> Grid:
    rows = [
        (
            place.run,
            fmt.points(place.score),
            str(place.rank),
            _rank_span(place),
            fmt.NONE if place.first is None else f"{100 * place.first:.0f} %",
        )
        for place in sorted(one.places, key=lambda place: place.rank)
    ]
    title = f"{one.benchmark}  {fmt.metric_words(one.metric)}, {fmt.plural(one.n, 'sample')}"
    return Grid(title, 1, ("run", "score", "rank", f"{100 * level:g} % ranks", "best"), rows)


def _rank_span(place: Place) -> str:
    if place.low is None:
        return fmt.NONE
    return str(place.low) if place.low == place.high else f"{place.low}–{place.high}"


def _differences(found: Comparison, letters: Mapping[str, str] | None = None) -> Grid:
    """`letters` stand for the names of runs, where these are too long."""
    letters = letters or {}
    several = len({pair.benchmark for pair in found.pairs}) > 1
    failed = any(pair.bounds for pair in found.pairs)
    rows = [
        (
            *([pair.benchmark] if several else []),
            f"{letters.get(pair.second, pair.second)} – {letters.get(pair.first, pair.first)}",
            fmt.signed(pair.difference),
            fmt.signed_span(pair.interval),
            *([_bounds(pair)] if failed else []),
            f"+{fmt.number(pair.second_better)} –{fmt.number(pair.first_better)}",
            fmt.p_text(pair.p_holm),
            fmt.points(pair.detectable),
            _needed(pair),
        )
        for pair in found.pairs
    ]
    p = "p" if len(found.pairs) == 1 else "Holm p"
    head = (
        "pair" if letters else "difference",  # beside letters a long word would be folded
        "points",
        f"{100 * found.level:g} % interval",
        *(["with failures"] if failed else []),
        "samples",
        p,
    )
    first = ("benchmark",) if several else ()
    return Grid("", 1 + several, (*first, *head, "finds", "needs"), rows)


def _bounds(pair: Pair) -> str:
    if pair.bounds is None:
        return fmt.NONE
    return " to ".join(map(fmt.signed, pair.bounds))


def _needed(pair: Pair) -> str:
    """A range of samples, with two digits that matter: the ends of an interval tell no more."""
    if pair.needed is None:
        return fmt.NONE
    low, high = (fmt.number(int(float(f"{many:.2g}"))) for many in pair.needed)
    return low if low == high else f"{low}–{high}"


def _groups(pair: Pair, told: Sequence[GroupDifference], level: float) -> Grid:
    rows = [
        (
            f"{fmt.words(one.column)}: {fmt.words(one.label)}",
            fmt.signed(one.difference),
            fmt.signed_span(one.interval),
            fmt.number(one.n),
            fmt.p_text(one.p_holm),
        )
        for one in told
    ]
    title = f"{pair.second} – {pair.first} on {pair.benchmark}: where they differ most"
    return Grid(title, 1, ("group", "points", f"{100 * level:g} % interval", "n", "Holm p"), rows)


def verdicts(found: Comparison) -> Iterator[str]:
    """A sentence for each pair."""
    for pair in found.pairs:
        yield verdict(pair, found)


def verdict(pair: Pair, found: Comparison) -> str:
    """Whether the difference is told apart from chance, what could tell it, and whether the runs
    are as good as each other but for the margin. Where a rule ended a run early, the anytime
    interval must leave out 0, too."""
    return _verdict(pair, found) + _with_failures(pair, found) + _within(pair, found) + _stop(pair)


def _stop(pair: Pair) -> str:
    if pair.anytime is None:
        return ""
    level, span = f"{100 * pair.anytime.level:g} %", fmt.signed_span(pair.anytime)
    return f"; a run stopped early, the {level} anytime interval of the difference is {span}"


def _better(pair: Pair, found: Comparison) -> bool:
    """Whether one of the two is better at the level of the comparison."""
    unsure = pair.anytime is not None and pair.anytime.low <= 0 <= pair.anytime.high
    return pair.p_holm is not None and pair.p_holm < 1 - found.level and not unsure


def _verdict(pair: Pair, found: Comparison) -> str:
    if _better(pair, found) and pair.p_holm is not None:
        higher, lower = (
            (pair.second, pair.first) if pair.difference > 0 else (pair.first, pair.second)
        )
        better = f"{higher} is better than {lower} on {pair.benchmark}"
        adjusted = "after Holm, " if len(found.pairs) > 1 else ""
        return f"{better} (p {fmt.p_told(pair.p_holm)}, {adjusted}{pair.test})"
    text = f"{pair.benchmark}: {pair.second} and {pair.first} cannot be told apart"
    if pair.reason:
        text += f"; {pair.reason}"
    elif pair.detectable is not None:
        text += (
            f"; {fmt.plural(pair.n, 'sample')} find a true difference of "
            f"{fmt.points(pair.detectable)} points with a power of {100 * found.power:g} %"
        )
    return text


def _with_failures(pair: Pair, found: Comparison) -> str:
    """Whether failures could turn a difference that is told apart."""
    if pair.bounds is None or not _better(pair, found):
        return ""
    against = pair.bounds[0] if pair.difference > 0 else pair.bounds[1]
    if against * pair.difference > 0:
        return ""
    return (
        "; not so if every sample that failed or is missing were against it: the difference would "
        f"be {fmt.signed(against)}"
    )


def _within(pair: Pair, found: Comparison) -> str:
    if found.margin is None:
        return ""
    points, alpha = f"{found.margin:g} {_points(found.margin)}", 1 - found.level
    one = pair.margin
    if one is None:
        return f"; nothing can be said of a margin of {points}"
    if one.equivalent_holm < alpha:
        p = fmt.p_told(one.equivalent_holm)
        return f"; equivalent within {points} (p {p}, two one-sided tests)"
    if _better(pair, found):
        return ""
    for p_value, run, other in (
        (one.second_no_worse_holm, pair.second, pair.first),
        (one.first_no_worse_holm, pair.first, pair.second),
    ):
        if p_value < alpha:
            return (
                f"; {run} is no worse than {other} by more than {points} "
                f"(p {fmt.p_told(p_value)}, one-sided)"
            )
    return f"; neither is shown to be no worse than the other by more than {points}"


def _points(many: float) -> str:
    return "point" if many == 1 else "points"


def legend(found: Comparison) -> str:
    """What the columns mean."""
    tests = " and ".join(dict.fromkeys(pair.test for pair in found.pairs))
    many = len(found.pairs)
    level = f"{100 * (1 - found.level):.2g} %"
    adjusted, alone = "", ""
    if many > 1:
        adjusted = f", adjusted by Holm for {many} comparisons"
        alone = "interval: of each pair alone; "
    p = f"p by {tests}{adjusted}; told apart: p below {level}; "
    if all(pair.p is None for pair in found.pairs):
        p = ""
    failed = (
        "with failures: the difference if all samples that failed or are missing spoke against "
        "the first named run, and for it; "
        if any(pair.bounds for pair in found.pairs)
        else ""
    )
    power = f"a power of {100 * found.power:g} % at the {level} level"
    return (
        f"{failed}{alone}samples: won and lost; {p}finds: the least true difference found with "
        f"{power}; needs: samples that find the far and the near end of the interval "
        "with that power, – where it includes 0"
    )


def groups_legend(found: Comparison) -> str:
    """What the p and the intervals of groups are about; empty where none is listed."""
    groups = [one for pair in found.pairs for one in pair.groups]
    if len(found.pairs) > PAIRS or not any(one.difference for one in groups):
        return ""
    tested = sum(one.p_holm is not None for one in groups)
    if not tested:
        return f"groups: fewer than {FEWEST_CLUSTERS} clusters of samples have no p and no interval"
    return f"groups: interval of each alone; p adjusted by Holm for all {tested} groups tested here"


def notices(found: Comparison) -> Iterator[str]:
    yield from found.notices
    for one in found.benchmarks:
        for notice in one.notices:
            yield f"{one.benchmark}: {notice}"
        if one.unscored:
            yield (
                f"{one.benchmark}: {fmt.plural(one.unscored, 'sample')} not scored in all runs, "
                "left out of the comparison"
            )


def print_comparison(found: Comparison, console: Console) -> None:
    """Notices, tables, what the columns mean, and a sentence for each pair. In a narrow console
    letters stand for the runs in the table of differences."""
    from rich.text import Text

    for notice in notices(found):
        console.print(Text(f"! {notice}", style="yellow"))
    for grid in grids(found):
        if grid.title:
            console.print(Text(grid.title, style="bold"))
        if not grid.title and not _fits(grid, console):
            letters = _letters(found)
            for name, letter in letters.items():
                console.print(Text(f"{letter}: {name}"))
            grid = _differences(found, letters)
        console.print(table_of(grid))
        if not grid.title:
            console.print(Text(legend(found), style="dim"))
        console.print()
    if groups_legend(found):
        console.print(Text(f"{groups_legend(found)}\n", style="dim"))
    for line in verdicts(found):
        console.print(Text(line))


def _letters(found: Comparison) -> dict[str, str]:
    """A letter for each run of the differences, in the order of the ranks: A to Z, then AA."""
    names = dict.fromkeys(
        place.run
        for one in found.benchmarks
        for place in sorted(one.places, key=lambda place: place.rank)
    )
    alphabet = [chr(ord("A") + at) for at in range(26)]
    letters = chain(alphabet, (a + b for a, b in product(alphabet, alphabet)))
    return dict(zip(names, letters, strict=False))


def _fits(grid: Grid, console: Console) -> bool:
    """Whether no cell must be folded."""
    return own_width(table_of(grid), console) <= console.width


def table_of(grid: Grid) -> Table:
    """A grid as a table of the terminal."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(
        box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1), header_style="", show_edge=False
    )
    for at, heading in enumerate(grid.headings):
        words = at < grid.text
        table.add_column(
            Text(heading),
            justify="left" if words else "right",
            no_wrap=not words,
            overflow="fold",
        )
    for row in grid.rows:
        table.add_row(*map(Text, row))
    return table


def to_markdown(found: Comparison) -> str:
    lines = bullets(notices(found))
    for grid in grids(found):
        lines += ["", *markdown_of(grid)]
        if not grid.title:
            lines += ["", literal(legend(found))]
    if groups_legend(found):
        lines += ["", literal(groups_legend(found))]
    lines += ["", *bullets(verdicts(found))]
    return "\n".join(lines).strip() + "\n"


def markdown_of(grid: Grid) -> Iterator[str]:
    """The lines of a grid as a Markdown table."""
    if grid.title:
        yield f"**{literal(grid.title)}**"
        yield ""
    yield from table(grid.headings, grid.rows, right=range(grid.text, len(grid.headings)))


def to_json(found: Comparison) -> str:
    """One object, percentages and p-values unrounded."""
    return msgspec.json.encode(found).decode() + "\n"


COMPARISON_EXPORTS: Mapping[str, Callable[[Comparison], str]] = {
    "json": to_json,
    "markdown": to_markdown,
}
