"""`snellen taskmap`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from snellen.api.flags import FlagKey, option
from snellen.api.options import parse_executor
from snellen.cli.output import TABLE, OutputOptions, download_printer, line_printer, print_line, write_document
from snellen.core.atomic_write import atomic_file
from snellen.core.benchmark import Variant
from snellen.core.errors import COMPLETE, INTERRUPTED, MissingExtra, UsageError, storage_errors

if TYPE_CHECKING:
    from rich.console import Console

    from snellen.engine.ray.placement import RayCluster
    from snellen.taskmap.findings import TaskMap, TaskMapFindings
    from snellen.taskmap.scores import TaskScores

    ScoresWithOverall = tuple[TaskScores, dict[str, float] | None]
    """Scores on tasks, and overall scores by model if they are not the mean over tasks."""

_FILE = "taskmap.json"
_CLUSTERS = 12
_PUBLISHED_CLUSTERS = "mmt-bench"
"""The value of `clusters` that stands for the clusters of the paper."""
LINKAGES = ("average", "complete", "single", "weighted", "ward")
TIES = ("zero", "one")
CONTROLS = ("wrong-image", "shuffled-answers")
KINDS = ("choice", "yes_no", "open")


def _parse_choice(choices: Sequence[str], text: str) -> str:
    if text not in choices:
        raise UsageError(f"invalid choice: {text!r} (choose from {', '.join(choices)})")
    return text


def _parse_list(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split("|") if part.strip())


def _parse_kinds(text: str) -> tuple[str, ...]:
    return tuple(_parse_choice(KINDS, kind) for kind in _parse_list(text))


def _parse_yes(text: str) -> bool:
    return _parse_choice(("yes", "no"), text) == "yes"


def _parse_fractions(text: str) -> tuple[float, ...]:
    """Read a list of fractions of the largest distance. Raises UsageError."""
    try:
        fractions = tuple(float(Fraction(part)) for part in _parse_list(text))
    except (ValueError, ZeroDivisionError):
        raise UsageError(f"{text!r} is not a list such as 1|1/2|1/4") from None
    if any(not 0 < fraction <= 1 for fraction in fractions):
        raise UsageError(f"{text!r}: expected fractions above 0, at most 1")
    return fractions


_TASK_KEYS: Mapping[str, FlagKey] = {
    "kind": FlagKey("only questions of these kinds: choice|yes_no|open", _parse_kinds),
    "halves": FlagKey(
        "yes: split each task into halves that share no image, to see whether the map places them together", _parse_yes
    ),
    "fewest": FlagKey("leave out tasks with fewer samples (8)", int),
    "most": FlagKey("train on a random N samples of each task", int),
}
_TUNING_KEYS: Mapping[str, FlagKey] = {
    "epochs": FlagKey("passes over the samples (3)", int),
    "rank": FlagKey("rank of the weight changes (8)", int),
    "alpha": FlagKey("LoRA's scale is alpha / rank (16)", int),
    "learning_rate": FlagKey("of AdamW, constant (2e-4)", float),
    "batch_size": FlagKey("samples per step (16)", int),
    "targets": FlagKey(
        "layers to tune, a regular expression that their full names match (every linear layer of the language model)"
    ),
}
_MAP_KEYS: Mapping[str, FlagKey] = {
    "clusters": FlagKey(
        "number of clusters (12), a CSV with the columns cluster, subtask, or mmt-bench, those that the paper lists"
    ),
    "linkage": FlagKey(f"of the clusters: {'|'.join(LINKAGES)} (average)", partial(_parse_choice, LINKAGES)),
    "seeds": FlagKey("make a map with each of N seeds and compare them (1)", int),
    "against": FlagKey(
        f"{'|'.join(CONTROLS)}: make the map a second time, with the images of other "
        "questions or the answers of others: what is alike in both is in the wording",
        partial(_parse_choice, CONTROLS),
    ),
}
_TAU_KEYS: Mapping[str, FlagKey] = {
    "overall": FlagKey(
        "a CSV of the overall score of each model, with the columns model, overall "
        "(the mean over tasks; for runs, their headline)"
    ),
    "without": FlagKey("models of the scores to leave out, separated by |", _parse_list),
    "nearest": FlagKey("tasks from which a task's scores are predicted (3)", int),
    "thresholds": FlagKey(
        "distances, as fractions of the largest, for tau by distance (1|1/2|1/4|1/6|1/8)", _parse_fractions
    ),
    "ties": FlagKey(
        "what two models tied on a task count: zero, or one, as the paper's formula says (zero)",
        partial(_parse_choice, TIES),
    ),
    "itself": FlagKey("yes: each task is its own neighbour, as in the paper's formula", _parse_yes),
}


@dataclass(frozen=True, kw_only=True)
class Options(OutputOptions):
    """What `snellen taskmap` takes."""

    model: str | None = option(None, "--model", is_repeatable=False)
    """The model to fine-tune: hf/... or snellen/..."""
    benchmark: str | None = option(None, "--benchmark")
    data: str | None = option(None, "--data")
    group: str = option("category", "--group")
    """Its labels are the tasks."""
    only: str | None = option(None, "--only")
    tasks: Mapping[str, Any] = option(
        {}, "--tasks", "which samples are the tasks", metavar="KEY=VALUE,...", keys=_TASK_KEYS
    )
    tuning: Mapping[str, Any] = option(
        {}, "--tuning", "how the model is fine-tuned on each task", metavar="KEY=VALUE,...", keys=_TUNING_KEYS
    )
    map: Mapping[str, Any] = option(
        {}, "--map", "how tasks are mapped and clustered", metavar="KEY=VALUE,...", keys=_MAP_KEYS
    )
    scores: str | None = option(
        None,
        "--scores",
        "scores of many models: the columns model, subtask (or task, category), accuracy (or "
        "score, value); without a model and a benchmark, only scores are analysed",
        metavar="FILE.csv",
    )
    runs: Sequence[str] = option((), "--runs")
    """The scores are taken from these, in place of a file."""
    tau: Mapping[str, Any] = option(
        {}, "--tau", "how the ranks of models on tasks are compared", metavar="KEY=VALUE,...", keys=_TAU_KEYS
    )
    seed: int = option(0, "--seed")
    """Of the initial weights, the order and the sampled questions."""
    out: str = option("snellen-taskmap", "--out")
    """Vectors, `taskmap.json` and figures are kept here."""
    cluster: RayCluster | None = option(None, "--executor", parse=parse_executor)
    quiet: bool = option(False, "--quiet")
    command_line: str = ""

    @property
    def clusters(self) -> str:
        """A number, a file or `mmt-bench`."""
        clusters: str = self.map.get("clusters", str(_CLUSTERS))
        return clusters

    @property
    def cluster_count(self) -> int | None:
        """None if the clusters are given."""
        return int(self.clusters) if self.clusters.lstrip("-").isdigit() else None


def main(options: Options) -> int:
    """Map tasks, or compare models on a map; write and print the findings."""
    from snellen.report.console import Terminal
    from snellen.report.documents.taskmap import task_map_document
    from snellen.taskmap.findings import TaskMapFindings
    from snellen.taskmap.mapping import measure_agreement
    from snellen.taskmap.training import TrainingInterrupted

    _check_options(options)
    console = Terminal(stderr=True)
    # Scores are read first: a mistake in a file must not show after hours of training.
    scored = _load_scores(options)
    clusters = _load_clusters(options, scored)
    built_map, agreement = None, None
    try:
        if options.model and options.benchmark:
            built_map = _build_map(options, options.model, options.benchmark, console)
    except TrainingInterrupted as stopped:
        line_printer(console)(
            f"stopped; {stopped.done} of {stopped.total} vectors are kept in {stopped.folder}\n"
            f"continue with: {options.command_line}"
        )
        return INTERRUPTED
    if scored is not None:
        keys = ("nearest", "thresholds", "ties", "itself")
        settings = {name: options.tau[name] for name in keys if name in options.tau}
        scores, overall = scored
        agreement = measure_agreement(scores, clusters, built_map, overall=overall, **settings)
    findings = TaskMapFindings(built_map, agreement)
    paths = _write_files(findings, Path(options.out)) if built_map is not None else []
    write_document(task_map_document(findings), options)
    for path in paths if options.form == TABLE else ():
        print_line(f"written: {path}")
    return COMPLETE


def _check_options(options: Options) -> None:
    if bool(options.model) != bool(options.benchmark):
        raise UsageError("a map needs a model and a benchmark: give -m and -b, or only --scores")
    if not options.model and not options.scores and not options.runs:
        raise UsageError(
            "there is nothing to do: give -m MODEL -b BENCHMARK for a map, --scores FILE.csv or "
            "--runs RUN for the agreement of models, or both"
        )
    if options.scores and options.runs:
        raise UsageError("scores come from --scores or from --runs, not from both")
    if "against" in options.map and not options.model:
        raise UsageError("--map against=... is of a map, which takes a model and a benchmark: -m and -b")
    if options.tau.get("nearest", 1) < 1:
        raise UsageError(f"--tau nearest={options.tau['nearest']}: expected a number above 0")


def _load_scores(options: Options) -> ScoresWithOverall | None:
    from snellen.api.task_map import scores_of_runs
    from snellen.taskmap.scores import read_overall, read_scores

    overall = read_overall(options.tau["overall"]) if "overall" in options.tau else None
    if options.scores:
        scores = read_scores(options.scores)
    elif options.runs:
        scores, headlines = scores_of_runs(options.runs, options.group)
        overall = overall or headlines
    else:
        return None
    return scores.without_models(options.tau.get("without", ())), overall


def _load_clusters(options: Options, scored: ScoresWithOverall | None) -> dict[str, tuple[str, ...]] | None:
    """Clusters from a file or of the paper; None if they are to be computed."""
    from snellen.taskmap.scores import published_clusters, read_clusters

    if options.cluster_count is not None:
        return None
    if scored is None:
        raise UsageError(
            f"--map clusters={options.clusters}: given clusters are looked at through scores; add "
            "--scores or --runs, or give a number"
        )
    if options.clusters == _PUBLISHED_CLUSTERS:
        return published_clusters(scored[0].tasks)
    return read_clusters(options.clusters)


def _build_map(options: Options, model: str, benchmark: str, console: Console) -> TaskMap:
    """Fine-tune on each task and map the tasks, as the options say."""
    from snellen.api.task_map import TaskMapOptions, task_map
    from snellen.models.hf.lora import LoraOptions
    from snellen.report.documents.taskmap import progress_line
    from snellen.taskmap.tasks import MIN_SAMPLES, TaskSelection

    only = tuple(name.strip() for name in (options.only or "").split(",") if name.strip())
    settings = TaskMapOptions(
        choice=TaskSelection(
            group=options.group,
            kinds=options.tasks.get("kind", ()),
            only=only,
            halves=options.tasks.get("halves", False),
            limit=options.tasks.get("most"),
            min_samples=options.tasks.get("fewest", MIN_SAMPLES),
        ),
        tuning=LoraOptions(**options.tuning, seed=options.seed),
        seeds=options.map.get("seeds", 1),
        linkage=options.map.get("linkage", "average"),
        control=options.map.get("against"),
        clusters=_CLUSTERS if options.cluster_count is None else options.cluster_count,
    )
    tell: Callable[[str], None] = (lambda _: None) if options.quiet else line_printer(console)
    return task_map(
        model,
        benchmark,
        options=settings,
        variant=Variant(data=options.data),
        out=options.out,
        cluster=options.cluster,
        on_finished=lambda finished: tell(progress_line(finished)),
        fetching=download_printer(console),
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
    with storage_errors("write", folder):
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in texts.items():
            with atomic_file(folder / name) as part:
                part.write_text(text, encoding="utf-8")
    return [folder / name for name in texts]
