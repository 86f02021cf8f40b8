"""`snellen taskmap`."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from snellen.cli.commands.run import download_printer, line_printer, ray_cluster
from snellen.cli.main import COMPLETE, INTERRUPTED
from snellen.cli.printing import print_line
from snellen.core.atomic_write import atomic_file
from snellen.core.benchmark import Variant
from snellen.core.errors import MissingExtra, StorageError, UsageError

if TYPE_CHECKING:
    from rich.console import Console

    from snellen.taskmap.findings import TaskMap, TaskMapFindings, TaskScoreAgreement
    from snellen.taskmap.scores import TaskScores
    from snellen.taskmap.training import VectorProgress

    ScoresWithOverall = tuple[TaskScores, dict[str, float] | None]
    """Scores on tasks, and overall where they are known apart."""

_FILE = "taskmap.json"
_PUBLISHED_CLUSTERS = "mmt-bench"
"""What is given to --clusters for those of the paper."""


def main(arguments: Namespace) -> int:
    import msgspec

    from snellen.report.console import Terminal
    from snellen.report.terminal.taskmap import print_findings
    from snellen.taskmap.findings import TaskMapFindings
    from snellen.taskmap.training import TrainingInterrupted

    _check_arguments(arguments)
    console = Terminal(stderr=True)
    # Scores are read first: a mistake in a file must not show after hours of training.
    scored = _load_scores(arguments)
    clusters = _load_clusters(arguments, scored)
    try:
        found = _build_map(arguments, console) if arguments.model else None
    except TrainingInterrupted as stopped:
        line_printer(console)(
            f"stopped; {stopped.done} of {stopped.total} vectors are kept in {stopped.folder}\n"
            f"continue with: {arguments.command_line}"
        )
        return INTERRUPTED
    agreement = None
    if scored is not None:
        agreement = _agreement(arguments, scored, clusters, found)
    findings = TaskMapFindings(found, agreement)
    written = _write_files(findings, Path(arguments.out)) if found is not None else []
    if arguments.json:
        print(msgspec.json.encode(findings).decode())
        return COMPLETE
    print_findings(findings, Terminal())
    for path in written:
        print_line(f"written: {path}")
    return COMPLETE


def _check_arguments(arguments: Namespace) -> None:
    if bool(arguments.model) != bool(arguments.benchmark):
        raise UsageError("a map needs a model and a benchmark: give -m and -b, or only --scores")
    if not arguments.model and not arguments.scores and not arguments.runs:
        raise UsageError(
            "there is nothing to do: give -m MODEL -b BENCHMARK for a map, --scores FILE.csv or "
            "--runs RUN... for the agreement of models, or both"
        )
    if arguments.scores and arguments.runs:
        raise UsageError("scores come from --scores or from --runs, not from both")
    if arguments.halves and (arguments.scores or arguments.runs):
        raise UsageError("--halves makes two of each task, which no scores are about; leave it out")
    if arguments.nearest < 1:
        raise UsageError(f"--nearest {arguments.nearest}: expected a number above 0")


def _load_scores(arguments: Namespace) -> ScoresWithOverall | None:
    from snellen.api.task_map import scores_of_runs
    from snellen.taskmap.scores import read_overall, read_scores

    overall = read_overall(arguments.overall) if arguments.overall else None
    if arguments.scores:
        scores = read_scores(arguments.scores)
    elif arguments.runs:
        scores, headlines = scores_of_runs(arguments.runs, arguments.group)
        overall = overall or headlines
    else:
        return None
    names = [name.strip() for words in arguments.without for name in words.split(",")]
    return scores.without_models(name for name in names if name), overall


def _load_clusters(
    arguments: Namespace, scored: ScoresWithOverall | None
) -> dict[str, tuple[str, ...]] | None:
    """None where clusters are to be found."""
    from snellen.taskmap.scores import published_clusters, read_clusters

    if _is_number(arguments.clusters):
        return None
    if scored is None:
        raise UsageError(
            f"--clusters {arguments.clusters}: given clusters are looked at through scores; add "
            "--scores or --runs, or give a number"
        )
    if arguments.clusters == _PUBLISHED_CLUSTERS:
        return published_clusters(scored[0].tasks)
    return read_clusters(arguments.clusters)


def _is_number(text: str) -> bool:
    return text.lstrip("-").isdigit()


def _build_map(arguments: Namespace, console: Console) -> TaskMap:
    from snellen.api.task_map import TaskMapOptions, task_map
    from snellen.models.hf.lora import LoraOptions
    from snellen.taskmap.tasks import TaskSelection

    settings = TaskMapOptions(
        choice=TaskSelection(
            group=arguments.group,
            kinds=tuple(arguments.kind),
            only=tuple(arguments.task),
            halves=arguments.halves,
            limit=arguments.limit,
            min_samples=arguments.fewest,
        ),
        tuning=LoraOptions(
            epochs=arguments.epochs,
            rank=arguments.rank,
            alpha=arguments.alpha,
            learning_rate=arguments.learning_rate,
            batch_size=arguments.batch_size,
            seed=arguments.seed,
            targets=arguments.targets,
        ),
        seeds=arguments.seeds,
        linkage=arguments.linkage,
        clusters=int(arguments.clusters) if _is_number(arguments.clusters) else 12,
    )
    return task_map(
        arguments.model,
        arguments.benchmark,
        options=settings,
        variant=Variant(data=arguments.data),
        out=arguments.out,
        cluster=ray_cluster(arguments),
        on_finished=_vector_printer(arguments, console),
        fetching=download_printer(console),
    )


def _vector_printer(arguments: Namespace, console: Console) -> Callable[[VectorProgress], None]:
    from snellen.report.terminal.taskmap import progress_line

    tell = (lambda _: None) if arguments.quiet else line_printer(console)
    return lambda finished: tell(progress_line(finished))


def _agreement(
    arguments: Namespace,
    scored: ScoresWithOverall,
    clusters: dict[str, tuple[str, ...]] | None,
    found: TaskMap | None,
) -> TaskScoreAgreement:
    from snellen.taskmap.mapping import measure_agreement

    scores, overall = scored
    return measure_agreement(
        scores,
        clusters,
        found,
        overall=overall,
        thresholds=arguments.thresholds,
        ties=arguments.ties,
        itself=arguments.itself,
        nearest=arguments.nearest,
    )


def _write_files(findings: TaskMapFindings, folder: Path) -> Sequence[Path]:
    """Write `taskmap.json`, and the plots if matplotlib is installed. Raises StorageError."""
    import msgspec

    from snellen.report.plots.taskmap import taskmap_plots

    json = msgspec.json.format(msgspec.json.encode(findings), indent=1)
    texts = {_FILE: json.decode() + "\n"}
    try:
        texts |= taskmap_plots(findings)
    except MissingExtra as error:
        print_line(f"plots are left out: {error}")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in texts.items():
            with atomic_file(folder / name) as part:
                part.write_text(text, encoding="utf-8")
    except OSError as error:
        raise StorageError(f"cannot write {folder}: {error.strerror or error}") from error
    return [folder / name for name in texts]
