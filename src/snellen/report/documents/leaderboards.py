"""Leaderboards of comparable runs, together with printed numbers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from snellen.analysis.comparison.comparability import (
    COMPLETE,
    DATA,
    STOPPED,
    UNFINISHED,
    comparable_sets,
    data_qualifiers,
    describe_facts,
    different_data_notices,
    differing_facts,
    distinct_names,
    extent_asked,
    named_notices,
    run_facts,
)
from snellen.analysis.comparison.deviations import deviations, is_option
from snellen.analysis.comparison.ranking import HEADLINE, GroupKey, RunRanking, RunRankings, rank_runs
from snellen.benchmarks.abilities.mme.boards import PrintedScores, build_boards
from snellen.benchmarks.abilities.mme.subtasks import SUBTASK, SUBTASKS
from snellen.core.errors import UsageError
from snellen.core.run import Report, RunInfo
from snellen.core.summary import Metric
from snellen.report import format as fmt
from snellen.report.documents.leaderboard_tables import ComparableRuns, group_legend
from snellen.scoring.leaderboard import Leaderboard, LeaderboardRow, rank_models
from snellen.stats.intervals import DEFAULT_LEVEL
from snellen.store.runs import RunFolder

MME = "mme"
_TOTAL = "total"
_PRINTED = "printed"
_MME_DIGITS = 2
"""Decimals of MME's leaderboards (Fig. 2)."""
_INCOMPLETE = {
    STOPPED: "these runs stopped early, each after another number of samples (n): intervals of "
    "ranks and paired tests do not hold for them",
    UNFINISHED: "these runs are not finished, so that their ranks have no interval",
}


class _BoardRun(NamedTuple):
    """A run of a set, with its distinct name."""

    name: str
    run: RunFolder
    report: Report


def rank_comparable_runs(
    runs: Sequence[RunFolder], reports: Sequence[Report], printed: Sequence[PrintedScores] = (), max_rows: int = 10
) -> list[ComparableRuns]:
    """The leaderboards of every set of comparable runs (`analysis.comparability`), independent of
    the order of the runs. Printed MME scores join the sets of complete MME runs.

    Raises UsageError if two runs of a set, or two printed models, have no distinct names.
    """
    infos = [report.run for report in reports]
    data = data_qualifiers(infos)
    best = _best_printed(printed)
    results = []
    is_merged = False
    for indices in comparable_sets(infos):
        names = distinct_names([infos[index] for index in indices], [runs[index].path for index in indices])
        members = [
            _BoardRun(_row_name(name, infos[index]), runs[index], reports[index])
            for name, index in zip(names, indices, strict=True)
        ]
        info = members[0].report.run
        joins = info.benchmark == MME and info.config.limit is None and extent_asked(info) == COMPLETE
        is_merged = is_merged or (joins and bool(printed))
        alike = [other for other in infos if other.benchmark == info.benchmark]
        boards, own, legend = _boards(members, best if joins else {}, max_rows)
        remarks = _remarks(printed) if joins else ()
        notices = (*_separation_notices(alike), *different_data_notices(alike), *own, *remarks)
        headlines = {member.name: member.report.summary.headline for member in members}
        results.append(
            ComparableRuns(
                _comparison_title(info, alike, bool(data[indices[0]])),
                boards,
                tuple(dict.fromkeys(notices)),
                legend,
                {name: metric for name, metric in headlines.items() if metric.value is not None},
                info.benchmark,
            )
        )
    if printed and not is_merged:
        results.insert(0, ComparableRuns(MME, tuple(build_boards(best, max_rows)), _remarks(printed)))
    return results


_OF_ROWS = ("tokens", "extension", "sampling", "replies")
"""Deviations in which the runs of one ranking may differ; the names of models say them."""
_NOT_IN_TITLES = frozenset({*_OF_ROWS, "model_options", "extent"})
"""Deviations that a title does not have, or says otherwise."""


def _row_name(name: str, info: RunInfo) -> str:
    """A distinct name with the deviations of the row that it does not have yet."""
    more = [one.label for one in deviations(info) if one.key in _OF_ROWS and one.label not in name]
    if not more:
        return name
    head, bracket, apart = name.partition(" (")
    inner = [apart.removesuffix(")")] if bracket else []
    return f"{head} ({', '.join([*inner, *more])})"


def _comparison_title(info: RunInfo, alike: Sequence[RunInfo], data_differ: bool) -> str:
    """The benchmark, how the set differs from its plain setting, and what else distinguishes it
    from the other sets; `alike` are all runs of the benchmark."""
    words = [one.label for one in deviations(info) if one.key not in _NOT_IN_TITLES]
    if extent_asked(info) != COMPLETE:
        words.append(extent_asked(info))
    facts, options = run_facts(info), set(differing_facts(alike))
    words += [
        describe_facts(info, [name])
        for name, value in facts.items()
        if name in options
        and (is_option(name.removesuffix("=")) if name.endswith("=") else name in _FURTHER_FACTS)
        and value != "none"
        and describe_facts(info, [name]) not in ", ".join(words).split(", ")
        and (name != DATA or data_differ)
    ]
    return f"{info.benchmark} ({', '.join(words)})" if words else info.benchmark


_FURTHER_FACTS = frozenset({DATA, "examples"})
"""Facts that no deviation names."""


def _separation_notices(alike: Sequence[RunInfo]) -> Iterator[str]:
    """That the runs of the benchmark are not in one ranking, and why."""
    # What ends so only repeats another fact as a digest.
    names = [name for name in differing_facts(alike) if not name.endswith(("_digest=", "rule_commit="))]
    apart = [name.removesuffix("=") for name in names]
    if apart:
        yield (f"the runs of {alike[0].benchmark} are not in one ranking: they differ in {', '.join(apart)}")


def _boards(
    members: Sequence[_BoardRun], printed: Mapping[str, Mapping[str, float]], max_rows: int
) -> tuple[tuple[Leaderboard, ...], tuple[str, ...], tuple[str, ...]]:
    """The leaderboards of a set, its notices, and what the columns mean."""
    if extent_asked(members[0].report.run) != COMPLETE:
        ranks = RunRankings({}, (_INCOMPLETE[extent_asked(members[0].report.run)],))
    else:
        # A gate may have withheld the headline of a run.
        ranked = [member for member in members if member.report.summary.headline.value is not None]
        ranks = rank_runs(
            [member.run for member in ranked], [member.report for member in ranked], [member.name for member in ranked]
        )
    own = ((member.name, said) for member in members for said in fmt.notices(member.report))
    notices = [*named_notices(own), *ranks.notices]
    if members[0].report.run.benchmark == MME:
        boards = _mme_boards(members, printed, max_rows, ranks)
    else:
        boards = list(_plain_boards(members, max_rows, ranks))
    return tuple(boards), tuple(notices), tuple(_legend(boards, ranks))


def _legend(boards: Sequence[Leaderboard], ranks: RunRankings) -> Iterator[str]:
    level = f"{100 * DEFAULT_LEVEL:g} %"
    rows = [row for board in boards for row in board.places]
    if any(row.ranks for row in rows):
        yield f"{level} ranks: the middle {level} of the ranks over resampled samples"
    first = ranks.by_group.get(HEADLINE)
    if any(row.letters for row in rows):
        pairs = max(ranking.pairs for ranking in ranks.by_group.values())
        yield (
            "alike: models that share a letter cannot be told apart (paired tests at a level of "
            f"{100 * (1 - DEFAULT_LEVEL):.0f} %, adjusted by Holm for the "
            f"{fmt.plural(pairs, 'pair')} of a board)"
        )
        if any(row.p_best is not None for board in boards[:1] for row in board.places):
            yield "Holm p vs best: of the paired test against the best model, adjusted likewise"
    elif first is not None and first.reason:
        yield f"how sure the ranks are is not known: {first.reason}"
    yield from group_legend(boards)
    if any(row.n is None for row in rows):
        yield f"{fmt.NONE}: only the number itself is known"


def _best_printed(printed: Sequence[PrintedScores]) -> dict[str, Mapping[str, float]]:
    best: dict[str, Mapping[str, float]] = {}
    for source in printed:
        for model, scores in source.scores.items():
            if model in best:
                raise UsageError(
                    f"the model {model!r} stands in two files of printed numbers; which of them "
                    "counts is yours to say: give one, or name the models differently"
                )
            best[model] = scores
    return best


def _remarks(printed: Sequence[PrintedScores]) -> tuple[str, ...]:
    return tuple(notice for source in printed for notice in source.notices)


def _mme_boards(
    members: Sequence[_BoardRun], printed: Mapping[str, Mapping[str, float]], max_rows: int, ranks: RunRankings
) -> list[Leaderboard]:
    """The total, and the 16 boards of the paper. A printed model with the name of a run is
    marked."""
    names = {member.name for member in members}
    scores: dict[str, Mapping[str, float]] = {
        f"{model} ({_PRINTED})" if model in names else model: scores for model, scores in printed.items()
    }
    metrics: dict[str, dict[str, Metric]] = {}
    for member in members:
        summary = member.report.summary
        subtasks = summary.groups.get(SUBTASK, {})
        metrics[member.name] = {**summary.metrics, **subtasks}
        metrics[member.name][_TOTAL] = summary.headline
        scores[member.name] = {
            label: metric.value for label, metric in subtasks.items() if label in SUBTASKS and metric.value is not None
        }
    totals = {
        model: sum(subtasks[name] for name in SUBTASKS)
        for model, subtasks in scores.items()
        if all(name in subtasks for name in SUBTASKS)
    }
    boards = [rank_models(_TOTAL, totals, max_rows), *build_boards(scores, max_rows)]
    with_metrics = [
        _with_metrics(
            board._replace(digits=_MME_DIGITS),
            {name: values[board.name] for name, values in metrics.items() if board.name in values},
        )
        for board in boards
    ]
    # Printed models have no samples, so ranks among them have no interval.
    first = ranks.by_group.get(HEADLINE)
    if first is not None and not printed:
        with_metrics[0] = _with_ranks(with_metrics[0], first)
    return with_metrics


def _plain_boards(members: Sequence[_BoardRun], max_rows: int, ranks: RunRankings) -> Iterator[Leaderboard]:
    """The headline, then every group by the headline's metric."""
    scores: dict[tuple[str, GroupKey], dict[str, Metric]] = {}
    for member in members:
        summary = member.report.summary
        headline = fmt.metric_label(summary.headline.name)
        cells: dict[tuple[str, GroupKey], Metric] = {(headline, HEADLINE): summary.headline}
        for column, labels in summary.groups.items():
            if len(labels) > 1:
                cells |= {
                    (f"{fmt.display_name(column)}: {name}", (column, name)): metric for name, metric in labels.items()
                }
        for key, metric in cells.items():
            if metric.value is not None:
                scores.setdefault(key, {})[member.name] = metric
    for (title, group), ranked in scores.items():
        # Every model of the headline's ranking has a cell in the tables of groups.
        rows = max_rows if group == HEADLINE else len(ranked)
        values = {name: metric.value for name, metric in ranked.items() if metric.value is not None}
        board = rank_models(title, values, rows)._replace(column=group[0], label=group[1])
        board = _with_metrics(board, ranked)
        ranking = ranks.by_group.get(group)
        yield board if ranking is None else _with_ranks(board, ranking)


def _with_metrics(board: Leaderboard, metrics: Mapping[str, Metric]) -> Leaderboard:
    """Add n and the interval to rows whose score is the value of a metric."""

    def add_metric(row: LeaderboardRow) -> LeaderboardRow:
        metric = metrics.get(row.model)
        if metric is None or metric.value is None or abs(metric.value - row.score) > 1e-6:
            return row
        return row._replace(n=metric.n, interval=metric.interval)

    return board._replace(places=tuple(map(add_metric, board.places)))


def _with_ranks(board: Leaderboard, ranking: RunRanking) -> Leaderboard:
    def add_rank(row: LeaderboardRow) -> LeaderboardRow:
        interval = ranking.runs.get(row.model)
        if interval is None:
            return row
        return row._replace(ranks=(interval.low, interval.high), letters=interval.letters, p_best=interval.p_best)

    return board._replace(places=tuple(map(add_rank, board.places)))
