"""What `snellen compare` shows."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import chain, product

from snellen.analysis.comparison.groups import GroupDifference
from snellen.analysis.comparison.paired import BenchmarkComparison, PairDifference, RunComparison
from snellen.core.grouping import group_by
from snellen.report import format as fmt
from snellen.report.document import Block, Column, Document, EmptyLine, Line, Table, table_of
from snellen.stats.intervals import MIN_CLUSTERS
from snellen.store.runs import RunFolder

GROUPS = 5
"""The number of groups in the table of each pair."""
PAIRS = 3
"""Groups are printed for at most this many pairs; JSON has all."""


def comparison_names(runs: Sequence[RunFolder], shared_limit: bool = True, siblings: bool = False) -> list[str]:
    """A distinct name for each run of a benchmark: its label (`run_info_labels`), if needed with
    the digest of its configuration or its path. Without `shared_limit`, a limit that all runs of a
    benchmark have in common is left out. With `siblings` names say which data a run is on."""
    names = [""] * len(runs)
    for members in group_by(range(len(runs)), lambda index: runs[index].info.benchmark).values():
        infos = [runs[index].info for index in members]
        limits = shared_limit or len({info.config.limit for info in infos}) > 1
        labels, folders = fmt.run_info_labels(infos, limits), [info.name for info in infos]
        for index, name in zip(members, labels, strict=True):
            if labels.count(name) > 1:
                twice = folders.count(runs[index].info.name) > 1
                name += f" [{runs[index].path if twice else runs[index].info.name[-8:]}]"
            names[index] = f"{name} on {runs[index].info.benchmark}" if siblings else name
    return names


def comparison_document(comparison: RunComparison) -> Document:
    """Notices, the ranks of each benchmark, the differences, the groups in which a pair differs
    most, and a sentence for each pair; JSON has all groups of all pairs."""
    blocks: list[Block] = [Line(notice, "notice") for notice in notices(comparison)]
    for table in comparison_tables(comparison):
        if not table.title:
            blocks += [Line(f"{letter}: {run}") for run, letter in _run_letters(comparison).items()]
        blocks += [table, EmptyLine()]
    if groups_legend(comparison):
        blocks += [Line(groups_legend(comparison), "note"), EmptyLine()]
    blocks += [Line(verdict) for verdict in verdicts(comparison)]
    return Document(blocks, data=comparison, records=_records(comparison))


def _records(comparison: RunComparison) -> Table:
    """A row for each pair."""
    metrics = {ranking.benchmark: ranking.metric for ranking in comparison.benchmarks}
    return table_of(
        "",
        _pairs_by_rank(comparison),
        [
            (Column("benchmark"), lambda pair: pair.benchmark),
            (Column("metric"), lambda pair: metrics[pair.benchmark]),
            (Column("first"), lambda pair: pair.first),
            (Column("second"), lambda pair: pair.second),
            (Column("difference", "signed"), lambda pair: pair.difference),
            (Column("interval", "signed"), lambda pair: pair.interval),
            (Column("n", "count"), lambda pair: pair.n),
            (Column("first_better", "count"), lambda pair: pair.first_better),
            (Column("second_better", "count"), lambda pair: pair.second_better),
            (Column("p", "p"), lambda pair: pair.p),
            (Column("p_holm", "p"), lambda pair: pair.p_holm),
            (Column("test"), lambda pair: pair.test),
            (Column("detectable", "points"), lambda pair: pair.detectable),
        ],
    )


def comparison_tables(comparison: RunComparison) -> Iterator[Table]:
    """The ranks of each benchmark, then the differences, then the groups in which a pair differs
    most."""
    for ranking in comparison.benchmarks:
        yield _ranks_table(ranking, comparison.level)
    yield _differences_table(comparison)
    for pair in comparison.pairs if len(comparison.pairs) <= PAIRS else ():
        differences = [difference for difference in pair.groups if difference.difference][:GROUPS]
        if differences:
            yield _groups_table(pair, differences, comparison.level)


def _pairs_by_rank(comparison: RunComparison) -> list[PairDifference]:
    """The pairs of each benchmark, those of the best runs first."""
    ranks = {(ranking.benchmark, row.run): row.rank for ranking in comparison.benchmarks for row in ranking.places}
    order = {ranking.benchmark: index for index, ranking in enumerate(comparison.benchmarks)}

    def place(pair: PairDifference) -> tuple[int, list[int]]:
        both = (ranks[pair.benchmark, pair.first], ranks[pair.benchmark, pair.second])
        return order[pair.benchmark], sorted(both)

    return sorted(comparison.pairs, key=place)


def _ranks_table(ranking: BenchmarkComparison, level: float) -> Table:
    samples = fmt.plural(ranking.n, "sample")
    return table_of(
        f"{ranking.benchmark}  {fmt.metric_label(ranking.metric)}, {samples}",
        sorted(ranking.places, key=lambda row: row.rank),
        [
            (Column("run", "name"), lambda row: row.run),
            (Column("score", "points", best="highest"), lambda row: row.score),
            (Column("rank", "count"), lambda row: row.rank),
            (Column(f"{100 * level:g} % ranks", "count"), lambda row: fmt.count_range(row.low, row.high)),
            (Column("best", "share", digits=0), lambda row: row.first),
        ],
    )


_MAX_PAIR = 40
"""Characters of two names beside each other; letters stand for longer ones."""


def _run_letters(comparison: RunComparison) -> dict[str, str]:
    """A letter for each run by rank, A to Z, then AA, if the names of a pair are long; else
    none."""
    if all(len(pair.first) + len(pair.second) <= _MAX_PAIR for pair in comparison.pairs):
        return {}
    names = dict.fromkeys(
        row.run for ranking in comparison.benchmarks for row in sorted(ranking.places, key=lambda row: row.rank)
    )
    alphabet = [chr(ord("A") + number) for number in range(26)]
    letters = chain(alphabet, (a + b for a, b in product(alphabet, alphabet)))
    return dict(zip(names, letters, strict=False))


def _differences_table(comparison: RunComparison) -> Table:
    letters = _run_letters(comparison)
    has_benchmarks = len({pair.benchmark for pair in comparison.pairs}) > 1
    failed = any(pair.bounds for pair in comparison.pairs)

    def names(pair: PairDifference) -> str:
        return f"{letters.get(pair.second, pair.second)} – {letters.get(pair.first, pair.first)}"

    def samples(pair: PairDifference) -> str:
        return f"+{fmt.count_text(pair.second_better)} –{fmt.count_text(pair.first_better)}"

    return table_of(
        "",
        _pairs_by_rank(comparison),
        [
            *([(Column("benchmark"), lambda pair: pair.benchmark)] if has_benchmarks else []),
            (Column("difference"), names),
            (Column("points", "signed"), lambda pair: pair.difference),
            (Column(f"{100 * comparison.level:g} % interval", "signed"), lambda pair: pair.interval),
            *([(Column("with failures", "signed", is_optional=True), _bounds_text)] if failed else []),
            (Column("samples", "count", is_optional=True), samples),
            (Column("p" if len(comparison.pairs) == 1 else "Holm p", "p"), lambda pair: pair.p_holm),
            (Column("detectable", "points", is_optional=True), lambda pair: pair.detectable),
            (Column("needed", "count", is_optional=True), _needed_samples),
        ],
        [legend(comparison)],
    )


def _bounds_text(pair: PairDifference) -> str | None:
    if pair.bounds is None:
        return None
    return " to ".join(map(fmt.difference_text, pair.bounds))


def _needed_samples(pair: PairDifference) -> str | None:
    """The range of needed samples, rounded to two digits, as the ends of the interval are no more
    precise."""
    if pair.needed is None:
        return None
    return fmt.count_range(*(int(float(f"{samples:.2g}")) for samples in pair.needed))


def _groups_table(pair: PairDifference, differences: Sequence[GroupDifference], level: float) -> Table:
    return table_of(
        f"{pair.second} – {pair.first} on {pair.benchmark}: where they differ most, smallest p first",
        differences,
        [
            (Column("group"), lambda group: f"{fmt.display_name(group.column)}: {fmt.display_name(group.label)}"),
            (Column("points", "signed"), lambda group: group.difference),
            (Column(f"{100 * level:g} % interval", "signed"), lambda group: group.interval),
            (Column("n", "count"), lambda group: group.n),
            (Column("p", "p"), lambda group: group.p),
            (Column("Holm p", "p"), lambda group: group.p_holm),
        ],
    )


_MAX_ALIKE = 3
"""Pairs of a benchmark that cannot be told apart and have a sentence each; more share one."""


def verdicts(comparison: RunComparison) -> Iterator[str]:
    """A sentence for each pair, those with a difference first; one sentence for many pairs of a
    benchmark that cannot be told apart and of which nothing else is to be said."""
    alike = defaultdict[str, list[PairDifference]](list)
    rest = []
    for pair in _pairs_by_rank(comparison):
        if _is_significant(pair, comparison):
            yield verdict(pair, comparison)
        elif pair.reason or pair.anytime is not None or comparison.margin is not None:
            rest.append(pair)
        else:
            alike[pair.benchmark].append(pair)
    for benchmark, pairs in alike.items():
        if len(pairs) <= _MAX_ALIKE:
            rest += pairs
        else:
            yield _alike_sentence(benchmark, pairs, comparison)
    for pair in rest:
        yield verdict(pair, comparison)


def _alike_sentence(benchmark: str, pairs: Sequence[PairDifference], comparison: RunComparison) -> str:
    by_first = group_by(pairs, lambda pair: pair.first)
    names = "; ".join(f"{first} and {' or '.join(pair.second for pair in own)}" for first, own in by_first.items())
    runs = sorted({name for pair in pairs for name in (pair.first, pair.second)})
    if len(pairs) == len(runs) * (len(runs) - 1) // 2:
        names = f"any two of {', '.join(runs)}"
    text = f"{benchmark}: {len(pairs)} pairs cannot be told apart: {names}"
    points = [pair.detectable for pair in pairs if pair.detectable is not None]
    if points:
        text += (
            f"; true differences of {fmt.score_text(min(points))} to "
            f"{fmt.score_text(max(points))} points would be found with a power of "
            f"{100 * comparison.power:g} %"
        )
    return text


def verdict(pair: PairDifference, comparison: RunComparison) -> str:
    """Whether the difference is significant, what sample size would show it, and whether the runs
    are equally good within the margin. If a stop rule ended a run early, the anytime interval must
    exclude 0, too."""
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
    """Whether one of the two runs is better at the level of the comparison."""
    unsure = pair.anytime is not None and pair.anytime.low <= 0 <= pair.anytime.high
    return pair.p_holm is not None and pair.p_holm < 1 - comparison.level and not unsure


def _verdict_clause(pair: PairDifference, comparison: RunComparison) -> str:
    if _is_significant(pair, comparison) and pair.p_holm is not None:
        higher, lower = (pair.second, pair.first) if pair.difference > 0 else (pair.first, pair.second)
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
    """Whether failed samples could reverse a significant difference."""
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
    """What the pair's tests say about the margin: equivalent, no worse, or neither; empty
    without a margin."""
    if comparison.margin is None:
        return ""
    points = f"{comparison.margin:g} {'point' if comparison.margin == 1 else 'points'}"
    alpha = 1 - comparison.level
    margin = pair.margin
    if margin is None:
        return f"; nothing can be said of a margin of {points}"
    if margin.equivalent_holm < alpha:
        p = fmt.p_clause(margin.equivalent_holm)
        return f"; equivalent within {points} (p {p}, two one-sided tests)"
    if _is_significant(pair, comparison):
        return ""
    for p_value, run, other in (
        (margin.second_no_worse_holm, pair.second, pair.first),
        (margin.first_no_worse_holm, pair.first, pair.second),
    ):
        if p_value < alpha:
            return f"; {run} is no worse than {other} by more than {points} (p {fmt.p_clause(p_value)}, one-sided)"
    return f"; neither is shown to be no worse than the other by more than {points}"


def legend(comparison: RunComparison) -> str:
    """What the columns mean."""
    tests = " and ".join(dict.fromkeys(pair.test for pair in comparison.pairs))
    pair_count = len(comparison.pairs)
    level = f"{100 * (1 - comparison.level):.2g} %"
    adjusted, alone = "", ""
    if pair_count > 1:
        adjusted = f", adjusted by Holm for {pair_count} comparisons"
        alone = "interval: of each pair alone; "
    p = f"p by {tests}{adjusted}; significant: p below {level}; "
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
        f"{failed}{alone}samples: won and lost; {p}detectable: the smallest true difference "
        f"that is detected with {power}; needed: samples that detect the far and the near end of "
        "the interval with that power, – if it includes 0"
    )


def groups_legend(comparison: RunComparison) -> str:
    """What p and the intervals of groups mean; empty without a group."""
    groups = [group for pair in comparison.pairs for group in pair.groups]
    if len(comparison.pairs) > PAIRS or not any(group.difference for group in groups):
        return ""
    tested = sum(group.p_holm is not None for group in groups)
    if not tested:
        return f"groups: fewer than {MIN_CLUSTERS} clusters of samples have no p and no interval"
    return f"groups: interval of each alone; p adjusted by Holm for all {tested} groups tested here"


def notices(comparison: RunComparison) -> Iterator[str]:
    yield from comparison.notices
    for ranking in comparison.benchmarks:
        for notice in ranking.notices:
            yield f"{ranking.benchmark}: {notice}"
        if ranking.unscored:
            yield (
                f"{ranking.benchmark}: {fmt.plural(ranking.unscored, 'sample')} "
                "not scored in all runs, "
                "left out of the comparison"
            )
