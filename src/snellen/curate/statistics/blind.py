"""How many questions a model answers without the images: the control `blind` of `snellen run`,
against what guessing scores (MMT-Bench, Table A13)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from snellen.api.evaluation import evaluate
from snellen.api.progress import ProgressChoice
from snellen.core.benchmark import Variant
from snellen.core.errors import UsageError
from snellen.core.record import Record
from snellen.core.summary import Interval
from snellen.curate.askable_items import write_askable
from snellen.curate.items import ItemTable, open_items
from snellen.curate.statistics.options import BlindOptions
from snellen.curate.statistics.results import BlindScore
from snellen.report.format import model_name, plural
from snellen.scoring.accuracy import CHANCE, cluster_samples, guess_metrics
from snellen.stats.intervals import score_interval
from snellen.store.runs import RUN_FILE, RunFolder, open_run

BLIND = "blind"


class BlindRuns(NamedTuple):
    """Scores of the models, in the order they were named, and sentences about what is lacking."""

    scores: Sequence[BlindScore]
    notices: Sequence[str]
    complete: bool
    """Whether every question of every model has a reply."""


def ask_blind(
    table: ItemTable,
    models: Sequence[str],
    options: BlindOptions = BlindOptions(),  # noqa: B008 - frozen
    *,
    columns: Mapping[str, str] | None = None,
    command: str = "",
    progress: ProgressChoice = None,
) -> BlindRuns:
    """Ask models the questions without their images. A stored run, named by its folder, is read;
    replies that the store has are not asked for again. `columns` are those of `open_items`;
    `command` is shown as what resumes the call. Rows that cannot be asked are left out, and named
    in a notice.

    Raises UsageError, also for a stored run that saw the images or asked other data.
    """
    asked, notices = _leave_out_bad_rows(table, Path(options.out).expanduser())
    if asked is not table:
        # The file of what is left has the columns that Snellen reads.
        columns = None
    stored = {model: _stored_run(model, asked) for model in models if _is_run(model)}
    named = [model for model in models if model not in stored]
    runs: list[RunFolder] = list(stored.values())
    if named:
        variant = Variant(control=BLIND, columns=dict(columns or {}))
        chosen = replace(options.run_options(), variant=variant)
        results = evaluate(named, asked.spec, chosen, command=command, progress=progress)
        runs += results.runs
        notices += [f"{one.model} was not asked: {one.reason}" for one in results.skipped]
    scores = []
    for run in runs:
        score = blind_score(run)
        if score is None:
            notices.append(f"{model_name(run.info.model)} has no scored answer in {run.path}")
        else:
            scores.append(score)
        lost = run.info.counts.samples - run.info.counts.done
        if lost:
            notices.append(
                f"{model_name(run.info.model)}: {lost:,} questions failed or were not asked; the "
                "same command asks them again"
            )
    complete = len(scores) == len(models) and all(run.info.status == "complete" for run in runs)
    return BlindRuns(scores, notices, complete)


def _leave_out_bad_rows(table: ItemTable, out: Path) -> tuple[ItemTable, list[str]]:
    """The items that can be asked, and a sentence about the others. If there are others, the items
    are written to a file of their own below `out`."""
    problems = [item.problem for item in table if item.problem] if table.is_own else []
    if not problems:
        return table, []
    folder = out / f"{table.name}-{table.digest[:8]}-askable"
    first = problems[0].removeprefix(f"{table.path}, ")
    others = f" (snellen data check {table.path} lists all)" if len(problems) > 1 else ""
    notice = f"{plural(len(problems), 'row')} left out of the blind runs{others}: {first}"
    return open_items(write_askable(table, folder)), [notice]


def blind_score(run: RunFolder) -> BlindScore | None:
    """What a blind run scores, against guessing on the same questions; None without scores."""
    records = [record for record in run.records() if record.score is not None]
    chance = guess_metrics(records).get(CHANCE) if records else None
    if chance is None or chance.value is None:
        return None
    scores = [record.score or 0.0 for record in records]
    accuracy, guessed = sum(scores) / len(scores), chance.value / 100
    interval = score_interval(scores, cluster_samples(records))
    return BlindScore(
        model=model_name(run.info.model),
        n=len(records),
        accuracy=accuracy,
        interval=interval,
        chance=guessed,
        above_chance=_excess_over_chance(accuracy, guessed),
        above_chance_interval=interval
        and Interval(
            _excess_over_chance(interval.low, guessed),
            _excess_over_chance(interval.high, guessed),
            interval.method,
            interval.level,
        ),
        run=str(run.path),
        metric=_metric(records),
    )


def _excess_over_chance(share: float, chance: float) -> float:
    """The share of questions that must be known for this share to be right, if the others are
    guessed; negative for fewer than by guessing."""
    return (share - chance) / (1 - chance) if chance < 1 else 0.0


def _metric(records: Sequence[Record]) -> str:
    circular = any("vanilla" in record.values for record in records)
    return "circular accuracy" if circular else "accuracy"


def _is_run(name: str) -> bool:
    return (Path(name).expanduser() / RUN_FILE).is_file()


def _stored_run(name: str, table: ItemTable) -> RunFolder:
    run = open_run(Path(name).expanduser())
    config = run.info.config
    control = config.parameters.get("control", "")
    if control != BLIND:
        saw = f"was made with the control {control!r}" if control else "saw the images"
        raise UsageError(
            f"--text-only {name}: this run {saw}; expected a run with --control blind, or a model"
        )
    if config.data and config.data != table.digest:
        raise UsageError(
            f"--text-only {name}: this run asked other data than {table.path}; expected a run on "
            "it, or a model"
        )
    return run
