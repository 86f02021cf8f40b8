"""Leaderboards of runs that may be compared, and of printed numbers beside them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from snellen.analysis.comparison.comparability import (
    COMPLETE,
    DATA,
    EXTENT,
    STOPPED,
    UNFINISHED,
    comparable_sets,
    describe_facts,
    differing_facts,
    distinct_names,
    extent_asked,
    run_facts,
)
from snellen.analysis.comparison.data_differences import data_qualifiers, different_data_notices
from snellen.analysis.comparison.ranking import (
    HEADLINE,
    GroupKey,
    RunRanking,
    RunRankings,
    rank_runs,
)
from snellen.benchmarks.mme.boards import PrintedScores, build_boards
from snellen.benchmarks.mme.subtasks import SUBTASK, SUBTASKS
from snellen.core.errors import UsageError
from snellen.core.run import Report, RunInfo
from snellen.core.summary import Metric
from snellen.report import format as fmt
from snellen.scoring.leaderboard import Leaderboard, LeaderboardRow, rank_models
from snellen.stats.intervals import DEFAULT_LEVEL
from snellen.store.runs import RunFolder

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

MME = "mme"
_TOTAL = "total"
_PRINTED = "printed"
_INCOMPLETE = {
    STOPPED: "these runs stopped early, each after another number of samples (n): intervals of "
    "ranks and paired tests do not hold for them",
    UNFINISHED: "these runs are not finished, so that their ranks have no interval",
}


class ComparableRuns(NamedTuple):
    """Boards over runs of one benchmark that were asked and read in the same way. `legend` says
    what the columns mean."""

    title: str
    boards: tuple[Leaderboard, ...]
    notices: tuple[str, ...] = ()
    legend: tuple[str, ...] = ()


class _Member(NamedTuple):
    """A run of a set, by the name it is told apart by."""

    name: str
    run: RunFolder
    report: Report


class _Score(NamedTuple):
    """What a model has on a board."""

    value: float
    metric: Metric | None = None


def rank_comparable_runs(
    runs: Sequence[RunFolder],
    reports: Sequence[Report],
    printed: Sequence[PrintedScores] = (),
    max_rows: int = 10,
) -> list[ComparableRuns]:
    """The boards of every set of comparable runs (`analysis.comparability`), whatever the order of
    the runs. Printed MME scores join the sets of full MME runs.

    Raises UsageError where two runs of a set, or two printed models, cannot be told apart.
    """
    infos = [report.run for report in reports]
    data = data_qualifiers(infos)
    sets = comparable_sets(infos)
    shown = _best_printed(printed)
    found = []
    joined = False
    for one in sets:
        names = distinct_names(
            [infos[at] for at in one.members], [runs[at].path for at in one.members]
        )
        members = [
            _Member(name, runs[at], reports[at])
            for name, at in zip(names, one.members, strict=True)
        ]
        info = members[0].report.run
        joins = (
            info.benchmark == MME and info.config.limit is None and extent_asked(info) == COMPLETE
        )
        joined = joined or (joins and bool(printed))
        alike = [other for other in infos if other.benchmark == info.benchmark]
        found.append(
            ComparableRuns(
                _comparison_title(info, alike, bool(data[one.members[0]])),
                *_boards(members, shown if joins else {}, max_rows),
            )
        )
        notices = (
            *_separation_notices(alike),
            *different_data_notices(alike),
            *found[-1].notices,
            *(_remarks(printed) if joins else ()),
        )
        found[-1] = found[-1]._replace(notices=tuple(dict.fromkeys(notices)))
    if printed and not joined:
        found.insert(
            0, ComparableRuns(MME, tuple(build_boards(shown, max_rows)), _remarks(printed))
        )
    return found


def _comparison_title(info: RunInfo, alike: Sequence[RunInfo], data_differ: bool) -> str:
    """The benchmark, and what its runs were made with; `alike` are all runs of the benchmark."""
    apart = set(differing_facts(alike)) - {DATA}
    names = [
        name
        for name, value in run_facts(info).items()
        if value != "none"
        and (
            name in apart
            or name.endswith("=")
            or (name == DATA and data_differ)
            or name in ("limit", "seed", "until")
            or (name == EXTENT and value != COMPLETE)
        )
    ]
    if info.config.limit is not None and extent_asked(info) == COMPLETE and EXTENT in names:
        names.remove(EXTENT)
    told = describe_facts(info, names)
    return f"{info.benchmark} ({told})" if told else info.benchmark


def _separation_notices(alike: Sequence[RunInfo]) -> Iterator[str]:
    """That runs of the benchmark do not stand in one ranking, and why."""
    apart = [name.removesuffix("=") for name in differing_facts(alike)]
    if apart:
        yield (
            f"the runs of {alike[0].benchmark} are not in one ranking: they differ in "
            f"{', '.join(apart)}"
        )


def _boards(
    members: Sequence[_Member], printed: Mapping[str, Mapping[str, float]], max_rows: int
) -> tuple[tuple[Leaderboard, ...], tuple[str, ...], tuple[str, ...]]:
    """Boards, notices, and what the columns mean."""
    if extent_asked(members[0].report.run) != COMPLETE:
        ranks = RunRankings({}, (_INCOMPLETE[extent_asked(members[0].report.run)],))
    else:
        # A gate may have withheld a headline.
        ranked = [one for one in members if one.report.summary.headline.value is not None]
        ranks = rank_runs(
            [one.run for one in ranked],
            [one.report for one in ranked],
            [one.name for one in ranked],
        )
    notices = [
        f"{one.name}: {notice}" for one in members for notice in fmt.notices(one.report)
    ] + list(ranks.notices)
    if members[0].report.run.benchmark == MME:
        boards = _mme_boards(members, printed, max_rows, ranks)
    else:
        boards = list(_plain_boards(members, max_rows, ranks))
    return tuple(boards), tuple(notices), tuple(_legend(boards, ranks))


def _legend(boards: Sequence[Leaderboard], ranks: RunRankings) -> Iterator[str]:
    level = f"{100 * DEFAULT_LEVEL:g} %"
    every = [place for one in boards for place in one.places]
    if any(place.ranks for place in every):
        yield f"{level} ranks: the middle {level} of the ranks over resampled samples"
    first = ranks.by_group.get(HEADLINE)
    if any(place.letters for place in every):
        pairs = max(one.pairs for one in ranks.by_group.values())
        yield (
            "alike: models that share a letter cannot be told apart (paired tests at a level of "
            f"{100 * (1 - DEFAULT_LEVEL):.0f} %, adjusted by Holm for the "
            f"{fmt.plural(pairs, 'pair')} of a board)"
        )
    elif first is not None and first.reason:
        yield f"how sure the ranks are is not known: {first.reason}"
    if any(place.n is None for place in every):
        yield f"{fmt.NONE}: only the number itself is known"


def _best_printed(printed: Sequence[PrintedScores]) -> dict[str, Mapping[str, float]]:
    found: dict[str, Mapping[str, float]] = {}
    for one in printed:
        for model, scores in one.scores.items():
            if model in found:
                raise UsageError(
                    f"the model {model!r} stands in two files of printed numbers; which of them "
                    "counts is yours to say: give one, or name the models differently"
                )
            found[model] = scores
    return found


def _remarks(printed: Sequence[PrintedScores]) -> tuple[str, ...]:
    return tuple(notice for one in printed for notice in one.notices)


def _mme_boards(
    members: Sequence[_Member],
    printed: Mapping[str, Mapping[str, float]],
    max_rows: int,
    ranks: RunRankings,
) -> list[Leaderboard]:
    """The total, and the 16 boards of the paper. A printed model that is called as a run is gets a
    mark behind its name."""
    names = {one.name for one in members}
    scores: dict[str, Mapping[str, float]] = {
        f"{model} ({_PRINTED})" if model in names else model: found
        for model, found in printed.items()
    }
    metrics: dict[str, dict[str, Metric]] = {}
    for one in members:
        summary = one.report.summary
        subtasks = summary.groups.get(SUBTASK, {})
        metrics[one.name] = {**summary.metrics, **subtasks}
        metrics[one.name][_TOTAL] = summary.headline
        scores[one.name] = {
            label: metric.value
            for label, metric in subtasks.items()
            if label in SUBTASKS and metric.value is not None
        }
    totals = {
        model: sum(found[name] for name in SUBTASKS)
        for model, found in scores.items()
        if all(name in found for name in SUBTASKS)
    }
    boards = [rank_models(_TOTAL, totals, max_rows), *build_boards(scores, max_rows)]
    with_metrics = [
        _with_metrics(
            one, {name: told[one.name] for name, told in metrics.items() if one.name in told}
        )
        for one in boards
    ]
    # Printed models have no samples, so that the ranks of runs among them have no interval.
    first = ranks.by_group.get(HEADLINE)
    if first is not None and not printed:
        with_metrics[0] = _with_ranks(with_metrics[0], first)
    return with_metrics


def _plain_boards(
    members: Sequence[_Member], max_rows: int, ranks: RunRankings
) -> Iterator[Leaderboard]:
    """The headline, then every group in the headline's number."""
    scores: dict[tuple[str, GroupKey], dict[str, _Score]] = {}
    for one in members:
        summary = one.report.summary
        headline = fmt.metric_label(summary.headline.name)
        cells: dict[tuple[str, GroupKey], Metric] = {(headline, HEADLINE): summary.headline}
        for column, labels in summary.groups.items():
            if len(labels) > 1:
                cells |= {
                    (f"{fmt.display_name(column)}: {name}", (column, name)): metric
                    for name, metric in labels.items()
                }
        for key, metric in cells.items():
            if metric.value is not None:
                scores.setdefault(key, {})[one.name] = _Score(metric.value, metric)
    for (title, group), ranked in scores.items():
        shown = rank_models(title, {name: one.value for name, one in ranked.items()}, max_rows)
        shown = _with_metrics(
            shown, {name: one.metric for name, one in ranked.items() if one.metric is not None}
        )
        ranking = ranks.by_group.get(group)
        yield shown if ranking is None else _with_ranks(shown, ranking)


def _with_metrics(board: Leaderboard, metrics: Mapping[str, Metric]) -> Leaderboard:
    """n and interval of each place, where the number is the metric's own."""

    def add_metric(row: LeaderboardRow) -> LeaderboardRow:
        metric = metrics.get(row.model)
        if metric is None or metric.value is None or abs(metric.value - row.score) > 1e-6:
            return row
        return row._replace(n=metric.n, interval=metric.interval)

    return board._replace(places=tuple(map(add_metric, board.places)))


def _with_ranks(board: Leaderboard, ranking: RunRanking) -> Leaderboard:
    def add_rank(row: LeaderboardRow) -> LeaderboardRow:
        one = ranking.runs.get(row.model)
        if one is None:
            return row
        return row._replace(ranks=(one.low, one.high), letters=one.letters)

    return board._replace(places=tuple(map(add_rank, board.places)))


def print_leaderboards(standings: Sequence[ComparableRuns], console: Console) -> None:
    """Boards side by side, as many as fit."""
    from rich.columns import Columns
    from rich.text import Text

    for at, standing in enumerate(standings):
        if at:
            console.print()
        console.print(Text(standing.title, style="bold"))
        for notice in standing.notices:
            console.print(Text(f"! {notice}", style="yellow"))
        tables = [_table(one) for one in standing.boards if one.places]
        console.print(Columns(tables, padding=(1, 4), expand=False))
        for line in standing.legend:
            console.print(Text(line, style="dim"))


def board_headings(board: Leaderboard) -> list[str]:
    """The columns of a board; those that no place has are left out."""
    found = ["rank", "model", "score"]
    if any(place.n is not None for place in board.places):
        found += [f"{100 * DEFAULT_LEVEL:g} % interval", "n"]
    if any(place.ranks for place in board.places):
        found += [f"{100 * DEFAULT_LEVEL:g} % ranks"]
    if any(place.letters for place in board.places):
        found += ["alike"]
    return found


def board_cells(board: Leaderboard) -> Iterator[list[str]]:
    """The rows of a board, in the order of its `board_headings`."""
    width = len(board_headings(board))
    ranked = any(place.ranks for place in board.places)
    for place in board.places:
        row = [str(place.rank), place.model, f"{place.score:.2f}"]
        row += [
            fmt.interval_text(place.interval),
            fmt.NONE if place.n is None else fmt.count_text(place.n),
        ]
        if ranked:
            row += [_rank_range(place.ranks)]
        row += [place.letters or fmt.NONE]
        yield row[:width]


def _rank_range(ranks: tuple[int, int] | None) -> str:
    if ranks is None:
        return fmt.NONE
    low, high = ranks
    return str(low) if low == high else f"{low}–{high}"


def _table(board: Leaderboard) -> Table:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(
        title=Text(fmt.display_name(board.name), style="bold"),
        box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, title_justify="left",
        caption=f"{board.tied_out} more with the last score" if board.tied_out else None,
    )  # fmt: skip
    for name in board_headings(board):
        words = name in ("model", "alike")
        table.add_column(
            name,
            justify="left" if words else "right",
            overflow="fold",
            no_wrap=name != "model",
        )
    for row in board_cells(board):
        table.add_row(*map(Text, row))
    return table
