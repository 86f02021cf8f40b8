"""`snellen taskmap`."""

from __future__ import annotations

from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Callable, Sequence
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

from snellen.cli.executor import add_executor, ray_cluster
from snellen.cli.exit_codes import COMPLETE, INTERRUPTED
from snellen.cli.flags import add_json
from snellen.cli.printing import download_printer, line_printer, print_json, print_line
from snellen.core.atomic_write import atomic_file
from snellen.core.benchmark import Variant
from snellen.core.errors import MissingExtra, StorageError, UsageError

if TYPE_CHECKING:
    from rich.console import Console

    from snellen.taskmap.findings import TaskMap, TaskMapFindings, TaskScoreAgreement
    from snellen.taskmap.scores import TaskScores
    from snellen.taskmap.training import VectorProgress

    ScoresWithOverall = tuple[TaskScores, dict[str, float] | None]
    """Scores on tasks, and overall scores by model if they are not the mean over tasks."""

_FILE = "taskmap.json"
_PUBLISHED_CLUSTERS = "mmt-bench"
"""The value of --clusters that stands for the clusters of the paper."""


LINKAGES = ("average", "complete", "single", "weighted", "ward")
TIES = ("zero", "one")
CONTROLS = ("wrong-image", "shuffled-answers")
KINDS = ("choice", "yes_no", "open")
THRESHOLDS = "1,1/2,1/4,1/6,1/8"


def _fractions(text: str) -> tuple[float, ...]:
    """Read a list of fractions of the largest distance. Raises ArgumentTypeError."""
    try:
        fractions = tuple(float(Fraction(part.strip())) for part in text.split(","))
    except (ValueError, ZeroDivisionError):
        raise ArgumentTypeError(f"{text!r} is not a list such as {THRESHOLDS}") from None
    if any(not 0 < fraction <= 1 for fraction in fractions):
        raise ArgumentTypeError(f"{text!r}: expected fractions above 0, at most 1")
    return fractions


def add(parser: ArgumentParser) -> None:
    _add_map(parser)
    _add_vectors(parser)
    _add_scores(parser)
    add_executor(parser)
    add_json(parser)
    parser.add_argument("-q", "--quiet", action="store_true", help="show no progress")


def _add_map(parser: ArgumentParser) -> None:
    """Add which tasks of which benchmark are mapped, and how they are clustered."""
    parser.add_argument("-m", "--model", metavar="MODEL",
                        help="the model to fine-tune: hf/... or snellen/...")  # fmt: skip
    parser.add_argument(
        "-b", "--benchmark", metavar="BENCHMARK", help="benchmark whose tasks are mapped"
    )
    parser.add_argument(
        "--data", metavar="FILE", help="data file to use instead of the benchmark's own"
    )
    parser.add_argument("--group", default="category", metavar="NAME",
                        help="column that defines the tasks (default: category)")  # fmt: skip
    parser.add_argument("--kind", action="append", default=[], choices=KINDS,
                        help="only questions of this kind; repeat for several")  # fmt: skip
    parser.add_argument("--task", action="append", default=[], metavar="TASK",
                        help="only this task; repeat for several")  # fmt: skip
    parser.add_argument(
        "--halves", action="store_true",
        help="split each task into halves that share no image, to see whether the map "
            "places them together",
    )  # fmt: skip
    parser.add_argument(
        "--control", choices=CONTROLS,
        help="make the map a second time, with the images of other questions or the answers of "
            "others: what is alike in both is in the wording",
    )  # fmt: skip
    parser.add_argument("--limit", type=int, metavar="N",
                        help="train on a random N samples of each task")  # fmt: skip
    parser.add_argument("--fewest", type=int, default=8, metavar="N",
                        help="leave out tasks with fewer samples (default: 8)")  # fmt: skip
    parser.add_argument("--linkage", default="average", choices=LINKAGES,
                        help="linkage of the clusters (default: average)")  # fmt: skip
    parser.add_argument(
        "--clusters", default="12", metavar="N|FILE.csv|mmt-bench",
        help="number of clusters (default: 12), a CSV with the columns cluster, subtask, or the "
        "clusters that the paper lists for MMT-Bench",
    )  # fmt: skip
    parser.add_argument("--out", default="snellen-taskmap", metavar="DIR",
                        help="where vectors, taskmap.json and plots are kept")  # fmt: skip


def _add_vectors(parser: ArgumentParser) -> None:
    """Add how the model is fine-tuned on each task."""
    parser.add_argument("--epochs", type=int, default=3, metavar="N",
                        help="passes over the samples (default: 3)")  # fmt: skip
    parser.add_argument("--rank", type=int, default=8, metavar="N",
                        help="rank of the weight changes (default: 8)")  # fmt: skip
    parser.add_argument("--alpha", type=int, default=16, metavar="N",
                        help="LoRA's scale is alpha / rank (default: 16)")  # fmt: skip
    parser.add_argument("--learning-rate", type=float, default=2e-4, metavar="X",
                        help="of AdamW, constant (default: 2e-4)")  # fmt: skip
    parser.add_argument("--batch-size", type=int, default=16, metavar="N",
                        help="samples per step (default: 16)")  # fmt: skip
    parser.add_argument(
        "--targets", default="language", metavar="REGEX",
        help="layers to tune, matched against their full names (default: every linear "
            "layer of the language model)",
    )  # fmt: skip
    parser.add_argument("--seed", type=int, default=0,
                        help="seed of initial weights, order and sampled questions "
                            "(default: 0)")  # fmt: skip
    parser.add_argument("--seeds", type=int, default=1, metavar="N",
                        help="make a map with each of N seeds and compare them")  # fmt: skip


def _add_scores(parser: ArgumentParser) -> None:
    """Add the scores of models, and how their agreement on tasks is computed."""
    parser.add_argument(
        "--scores", metavar="FILE.csv",
        help="scores of many models: the columns model, subtask (or task, category), accuracy (or "
        "score, value); without a model and a benchmark, only scores are analysed",
    )  # fmt: skip
    parser.add_argument("--runs", nargs="+", default=[], metavar="RUN",
                        help="run folders to take the scores from")  # fmt: skip
    parser.add_argument(
        "--overall", metavar="FILE.csv",
        help="overall score of each model: the columns model, overall (default: the mean "
            "over tasks; for runs, their headline)",
    )  # fmt: skip
    parser.add_argument(
        "--without", action="append", default=[], metavar="MODEL,...",
        help="models of the scores to leave out; repeat or separate by commas",
    )  # fmt: skip
    parser.add_argument(
        "--thresholds", type=_fractions, default=THRESHOLDS, metavar="X,...",
        help=f"distances, as fractions of the largest, for tau by distance (default: {THRESHOLDS})",
    )  # fmt: skip
    parser.add_argument(
        "--ties", default="zero", choices=TIES,
        help="what two models tied on a task count in tau: zero (default), or one, as the paper's "
        "formula says",
    )  # fmt: skip
    parser.add_argument(
        "--itself", action="store_true",
        help="count each task as its own neighbour, as the paper's formula does",
    )  # fmt: skip
    parser.add_argument("--nearest", type=int, default=3, metavar="N",
                        help="number of tasks from which a task's scores are predicted "
                            "(default: 3)")  # fmt: skip


def main(arguments: Namespace) -> int:
    """Map tasks, or compare models on a map; write and print the findings."""

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
        built_map = _build_map(arguments, console) if arguments.model else None
    except TrainingInterrupted as stopped:
        line_printer(console)(
            f"stopped; {stopped.done} of {stopped.total} vectors are kept in {stopped.folder}\n"
            f"continue with: {arguments.command_line}"
        )
        return INTERRUPTED
    agreement = None
    if scored is not None:
        agreement = _agreement(arguments, scored, clusters, built_map)
    findings = TaskMapFindings(built_map, agreement)
    paths = _write_files(findings, Path(arguments.out)) if built_map is not None else []
    if arguments.json:
        print_json(findings)
        return COMPLETE
    print_findings(findings, Terminal())
    for path in paths:
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
    if arguments.control and not arguments.model:
        raise UsageError("--control is of a map, which takes a model and a benchmark: -m and -b")
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
    """Clusters from a file or of the paper; None if they are to be computed."""
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
    """Fine-tune on each task and map the tasks, as the flags say."""
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
        control=arguments.control,
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
        print_line(f"plots are left out: {error}", error=True)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in texts.items():
            with atomic_file(folder / name) as part:
                part.write_text(text, encoding="utf-8")
    except OSError as error:
        raise StorageError(f"cannot write {folder}: {error.strerror or error}") from error
    return [folder / name for name in texts]
