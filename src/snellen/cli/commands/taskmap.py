"""`snellen taskmap`."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from snellen.cli.commands.run import cluster_of, fetched, told
from snellen.cli.main import COMPLETE, INTERRUPTED
from snellen.cli.printing import say
from snellen.core.atomic_write import whole_file
from snellen.core.benchmark import Variant
from snellen.core.errors import StorageError, UsageError

if TYPE_CHECKING:
    from rich.console import Console

    from snellen.taskmap.findings import Agreement, Findings, TaskMap
    from snellen.taskmap.scores import Scores
    from snellen.taskmap.training import Finished

    Scored = tuple[Scores, dict[str, float] | None]
    """Scores on tasks, and overall where they are known apart."""

_FILE = "taskmap.json"
_PUBLISHED = "mmt-bench"
"""What is given to --clusters for those of the paper."""


def main(arguments: Namespace) -> int:
    import msgspec

    from snellen.report.console import Terminal
    from snellen.report.terminal.taskmap import print_findings
    from snellen.taskmap.findings import Findings
    from snellen.taskmap.training import Stopped

    _check(arguments)
    console = Terminal(stderr=True)
    # Scores are read first: a mistake in a file must not show after hours of training.
    scored = _scored(arguments)
    clusters = _given_clusters(arguments, scored)
    try:
        found = _mapped(arguments, console) if arguments.model else None
    except Stopped as stopped:
        told(console)(
            f"stopped; {stopped.kept} of {stopped.wanted} vectors are kept in {stopped.folder}\n"
            f"continue with: {arguments.command_line}"
        )
        return INTERRUPTED
    agreement = None
    if scored is not None:
        agreement = _agreement(arguments, scored, clusters, found)
    findings = Findings(found, agreement)
    written = _write(findings, Path(arguments.out)) if found is not None else []
    if arguments.json:
        print(msgspec.json.encode(findings).decode())
        return COMPLETE
    print_findings(findings, Terminal())
    for path in written:
        say(f"written: {path}")
    return COMPLETE


def _check(arguments: Namespace) -> None:
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


def _scored(arguments: Namespace) -> Scored | None:
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
    return scores.without(name for name in names if name), overall


def _given_clusters(
    arguments: Namespace, scored: Scored | None
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
    if arguments.clusters == _PUBLISHED:
        return published_clusters(scored[0].tasks)
    return read_clusters(arguments.clusters)


def _is_number(text: str) -> bool:
    return text.lstrip("-").isdigit()


def _mapped(arguments: Namespace, console: Console) -> TaskMap:
    from snellen.api.task_map import Settings, task_map
    from snellen.models.hf.lora import Tuning
    from snellen.taskmap.tasks import Choice

    settings = Settings(
        choice=Choice(
            group=arguments.group,
            kinds=tuple(arguments.kind),
            only=tuple(arguments.task),
            halves=arguments.halves,
            limit=arguments.limit,
            fewest=arguments.fewest,
        ),
        tuning=Tuning(
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
        settings=settings,
        variant=Variant(data=arguments.data),
        out=arguments.out,
        cluster=cluster_of(arguments),
        told=_lines(arguments, console),
        fetching=fetched(console),
    )


def _lines(arguments: Namespace, console: Console) -> Callable[[Finished], None]:
    from snellen.report.terminal.taskmap import finished_line

    tell = (lambda _: None) if arguments.quiet else told(console)
    return lambda finished: tell(finished_line(finished))


def _agreement(
    arguments: Namespace,
    scored: Scored,
    clusters: dict[str, tuple[str, ...]] | None,
    found: TaskMap | None,
) -> Agreement:
    from snellen.taskmap.mapping import agreement_of

    scores, overall = scored
    return agreement_of(
        scores,
        clusters,
        found,
        overall=overall,
        thresholds=arguments.thresholds,
        ties=arguments.ties,
        itself=arguments.itself,
        nearest=arguments.nearest,
    )


def _write(findings: Findings, folder: Path) -> Sequence[Path]:
    """`taskmap.json` and the plots. Raises StorageError."""
    import msgspec

    from snellen.report.plots.taskmap import plots

    json = msgspec.json.format(msgspec.json.encode(findings), indent=1)
    texts = {_FILE: json.decode() + "\n", **plots(findings)}
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in texts.items():
            with whole_file(folder / name) as part:
                part.write_text(text, encoding="utf-8")
    except OSError as error:
        raise StorageError(f"cannot write {folder}: {error.strerror or error}") from error
    return [folder / name for name in texts]
