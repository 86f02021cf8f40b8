"""Leaderboards of runs that may be compared, and of printed numbers beside them."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from snellen.analysis.data_marks import data_apart, unlike_data
from snellen.benchmarks.mme_boards import PrintedScores, mme_boards
from snellen.benchmarks.mme_subtasks import SUBTASK, SUBTASKS
from snellen.core.run import Report
from snellen.core.sheets import text_cells
from snellen.report import format as fmt
from snellen.report.markdown import bullets, literal, table
from snellen.scoring.leaderboard import Board, board

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

MME = "mme"


class Standing(NamedTuple):
    """Boards over runs of one benchmark that were asked and read in the same way."""

    title: str
    boards: tuple[Board, ...]
    notices: tuple[str, ...] = ()


def standings(
    reports: Sequence[Report], printed: Sequence[PrintedScores] = (), places: int = 10
) -> list[Standing]:
    """The boards of every set of comparable runs: same benchmark and version, same parameters,
    data, limit and seed. Printed MME scores join the sets of full MME runs. Sets that differ in
    their data alone say so."""
    sets: dict[tuple[object, ...], list[Report]] = {}
    runs = [report.run for report in reports]
    data = dict(zip([run.name for run in runs], data_apart(runs), strict=True))
    for report in reports:
        sets.setdefault(_alike(report), []).append(report)
    found = []
    joined = False
    for members in sets.values():
        joins = members[0].run.benchmark == MME and members[0].run.config.limit is None
        joined = joined or joins
        standing = _standing(members, printed if joins else (), places, data[members[0].run.name])
        alike = [run for run in runs if run.benchmark == members[0].run.benchmark]
        notices = dict.fromkeys((*unlike_data(alike), *standing.notices))
        found.append(standing._replace(notices=tuple(notices)))
    if printed and not joined:
        found.insert(0, _printed_standing(printed, places))
    return found


def _alike(report: Report) -> tuple[object, ...]:
    config = report.run.config
    parameters = tuple(sorted(config.parameters.items()))
    return (config.benchmark, config.version, parameters, config.data, config.limit, config.seed)


def _standing(
    members: Sequence[Report], printed: Sequence[PrintedScores], places: int, data: str
) -> Standing:
    """`data` sets the data apart from those of other sets, where it must."""
    config = members[0].run.config
    details = [f"{key}={value}" for key, value in config.parameters.items()]
    if config.limit is not None:
        details.append(f"limit {config.limit}, seed {config.seed}")
    details += [data] if data else []
    title = f"{config.benchmark} ({', '.join(details)})" if details else config.benchmark
    latest = {report.run.model: report for report in members}
    notices = [
        f"{model}: {notice}" for model, report in latest.items() for notice in fmt.notices(report)
    ]
    if config.benchmark == MME:
        boards = mme_boards({**_joined(printed), **_mme_scores(latest)}, places)
    else:
        boards = list(_plain_boards(latest, places))
    return Standing(title, tuple(boards), (*notices, *_remarks(printed)))


def _printed_standing(printed: Sequence[PrintedScores], places: int) -> Standing:
    return Standing(MME, tuple(mme_boards(_joined(printed), places)), _remarks(printed))


def _joined(printed: Sequence[PrintedScores]) -> dict[str, Mapping[str, float]]:
    return {model: found for one in printed for model, found in one.scores.items()}


def _remarks(printed: Sequence[PrintedScores]) -> tuple[str, ...]:
    return tuple(notice for one in printed for notice in one.notices)


def _mme_scores(latest: Mapping[str, Report]) -> dict[str, Mapping[str, float]]:
    return {
        model: {
            label: metric.value
            for label, metric in report.summary.groups.get(SUBTASK, {}).items()
            if label in SUBTASKS and metric.value is not None
        }
        for model, report in latest.items()
    }


def _plain_boards(latest: Mapping[str, Report], places: int) -> Iterator[Board]:
    """The headline, then every group in the headline's number."""
    scores: dict[str, dict[str, float]] = {}
    for model, report in latest.items():
        summary = report.summary
        cells = {fmt.metric_words(summary.headline.name): summary.headline.value}
        for column, labels in summary.groups.items():
            if len(labels) > 1:
                cells |= {f"{fmt.words(column)}: {name}": one.value for name, one in labels.items()}
        for name, value in cells.items():
            if value is not None:
                scores.setdefault(name, {})[model] = value
    for name, ranked in scores.items():
        yield board(name, ranked, places)


def print_standings(found: Sequence[Standing], console: Console) -> None:
    """Boards side by side, as many as fit."""
    from rich.columns import Columns
    from rich.text import Text

    for standing in found:
        console.print(Text(standing.title, style="bold"))
        for notice in standing.notices:
            console.print(Text(f"! {notice}", style="yellow"))
        tables = [_table(one) for one in standing.boards if one.places]
        console.print(Columns(tables, padding=(1, 4), expand=False))


def _table(shown: Board) -> Table:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(
        title=Text(fmt.words(shown.name), style="bold"),
        box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, title_justify="left",
        caption=f"{shown.tied_out} more with the last score" if shown.tied_out else None,
    )  # fmt: skip
    table.add_column("rank", justify="right")
    table.add_column("model", overflow="fold")
    table.add_column("score", justify="right", no_wrap=True)
    for rank, model, score in shown.places:
        table.add_row(str(rank), Text(model), f"{score:.2f}")
    return table


class Line(NamedTuple):
    benchmark: str
    board: str
    rank: int
    model: str
    score: float


def lines(found: Sequence[Standing]) -> list[Line]:
    """Every place of every board."""
    return [
        Line(standing.title, shown.name, place.rank, place.model, place.score)
        for standing in found
        for shown in standing.boards
        for place in shown.places
    ]


def to_json(found: Sequence[Standing]) -> str:
    """One object: the standings with their boards and notices, scores unrounded."""
    return (
        json.dumps(
            [
                {
                    "benchmark": standing.title,
                    "notices": standing.notices,
                    "boards": [
                        {**shown._asdict(), "places": [place._asdict() for place in shown.places]}
                        for shown in standing.boards
                    ],
                }
                for standing in found
            ],
            ensure_ascii=False,
        )
        + "\n"
    )


def to_csv(found: Sequence[Standing]) -> str:
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(Line._fields)
    writer.writerows(text_cells((*line[:-1], f"{line.score:.2f}")) for line in lines(found))
    return file.getvalue()


def to_markdown(found: Sequence[Standing]) -> str:
    blocks = []
    for standing in found:
        blocks.append(f"**{literal(standing.title)}**")
        if standing.notices:
            blocks.append("\n".join(bullets(standing.notices)))
        for shown in standing.boards:
            if shown.places:
                head = ("rank", fmt.words(shown.name), "score")
                rows = [(str(rank), model, f"{score:.2f}") for rank, model, score in shown.places]
                blocks.append("\n".join(table(head, rows, right=(0, 2))))
    return "\n\n".join(blocks) + "\n"


EXPORTS: Mapping[str, Callable[[Sequence[Standing]], str]] = {
    "json": to_json,
    "csv": to_csv,
    "markdown": to_markdown,
}
