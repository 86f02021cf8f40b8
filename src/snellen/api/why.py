"""`why`: the difference of two runs, or of a run and recorded predictions, split by cause."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, pairwise
from pathlib import Path
from typing import NamedTuple, cast

from msgspec import structs

from snellen.analysis.causes.factors import (
    PARSING_PARAMETERS,
    SCORING_PARAMETERS,
    Cause,
    Differences,
    RunRecords,
    crossable_causes,
    find_differences,
)
from snellen.analysis.causes.why import DifferenceSplit, counted_scores, crossed_run, why
from snellen.analysis.comparison.reopened_data import benchmark_as_recorded
from snellen.analysis.parsing.rescore import rescore_records
from snellen.analysis.published.numbers import PublishedExplanation, explain_published
from snellen.api.options import SourceOptions
from snellen.api.run_sources import is_recorded, source_folders
from snellen.core.errors import UsageError
from snellen.core.run import RunInfo
from snellen.core.summary import FailurePolicy
from snellen.extract.llm import EXTRACTOR
from snellen.store.runs import RUN_FILES, RunFolder, find_runs, open_run

_MEAN_TOLERANCE = 0.05
"""Points by which a headline may differ from the mean of its samples."""
CROSSED_FOLDER = "crossed"
"""Folder of the runs of `why --ask`, next to one of the two runs they compare."""


class Explanation(NamedTuple):
    """The split difference, warnings about a file of predictions, the two sides that were compared,
    and the folder of the first run."""

    why: DifferenceSplit
    warnings: tuple[str, ...]
    sides: tuple[RunRecords, RunRecords]
    folder: Path


def explain(
    first: Path | str,
    second: Path | str,
    *,
    others: Sequence[Path | str | RunFolder] = (),
    examples: int = 2,
    level: float = 0.95,
    sources: SourceOptions = SourceOptions(),  # noqa: B008 - frozen
    names: Sequence[str] = (),
) -> Explanation:
    """Split the difference of two scores by cause, with `examples` samples of each cause. `names`
    are those of the two runs; by default those of their models.

    Both are run folders or files of predictions, which `sources` says how to score; a file beside a
    run is scored by the benchmark and on the data of that run. `level` is that of the intervals.

    If several causes differ at once, runs that are as the first in some of them and as the second
    in the others separate them: first the runs `others`, then runs next to the two.

    Raises UsageError subclasses, also if one of `others` separates nothing.
    """
    warnings: list[str] = []
    folders = source_folders((first, second), sources, warnings.append)
    runs = [_open_single_run(path) for path in folders]
    names = names or _names(runs, folders)
    hides_settings = _hide_settings(runs)
    first_side, second_side = (
        _side(run, name, hides_settings and is_recorded(run)) for run, name in zip(runs, names, strict=True)
    )
    pair = first_side, second_side
    differences = find_differences(*pair)
    helpers = [] if hides_settings else _sides_between(pair, differences, runs, others)
    rescorer = _ReplyRescorer(pair, sources.data)
    split = why(*pair, others=helpers, rescore=rescorer, examples=examples, level=level)
    scores = {split.first: split.first_score, split.second: split.second_score}
    mean_notices = chain(*(_headline_notice(run, name, scores[name]) for run, name in zip(runs, names, strict=True)))
    unfinished = [f"{side.name} is not complete" for side in helpers if side.info and side.info.status != "complete"]
    notices = (*split.notices, *unfinished, *dict.fromkeys(rescorer.problems), *mean_notices)
    return Explanation(structs.replace(split, notices=notices), tuple(warnings), pair, runs[0].path)


def explain_steps(
    runs: Sequence[Path | str],
    *,
    level: float = 0.95,
    sources: SourceOptions = SourceOptions(),  # noqa: B008 - frozen
) -> list[Explanation]:
    """Split the difference of each run from the one before it, as `explain` does. Raises UsageError
    subclasses."""
    folders = source_folders(runs, sources)
    names = _names([_open_single_run(path) for path in folders], folders)
    return [
        explain(first, second, examples=0, level=level, sources=sources, names=pair)
        for (first, second), pair in zip(pairwise(runs), pairwise(names), strict=True)
    ]


def _hide_settings(runs: Sequence[RunFolder]) -> bool:
    """Whether what the runs were asked with is unknown: one holds the replies of a file, and the
    other does not hold the same replies."""
    identities = {run.info.config.identity.digest() for run in runs}
    return len(identities) > 1 and any(map(is_recorded, runs))


def explain_against_published(
    source: Path | str,
    sources: SourceOptions = SourceOptions(),  # noqa: B008 - frozen
) -> PublishedExplanation:
    """Compare a run with the published numbers of its model on its benchmark, and name the settings
    that differ from theirs, as far as these are known. A file of predictions is read as `sources`
    say; the model is that of its name.

    Raises UsageError subclasses: no run, no score, no number that it can be compared with.
    """
    run = _open_single_run(source_folders((source,), sources)[0])
    if not run.has_report:
        raise UsageError(f"{run.name} has no score yet; finish it first")
    return explain_published(run.report())


def _sides_between(
    pair: tuple[RunRecords, RunRecords],
    differences: Differences,
    runs: Sequence[RunFolder],
    requested: Sequence[Path | str | RunFolder],
) -> list[RunRecords]:
    """Runs that separate the causes, one for each combination: the `requested` ones, then runs next
    to the two. Raises UsageError if a requested one separates nothing."""
    sides: dict[frozenset[Cause], RunRecords] = {}
    for source in requested:
        run = source if isinstance(source, RunFolder) else _open_single_run(Path(source))
        side = _side(run, run.name)
        crossed = crossed_run(side, *pair, differences)
        if crossed is None:
            raise UsageError(
                f"{run.name} tells nothing of what sets {pair[0].name} and {pair[1].name} apart; "
                "expected a run of the same benchmark and data that is as the first in some of "
                f"what differs ({', '.join(sorted(differences.causes)) or 'nothing'}) and as the "
                "second in the rest"
            )
        sides.setdefault(crossed.switched, side)
    if len(crossable_causes(*pair, differences)) > 1:
        for run in _nearby_runs(runs):
            side = _side(run, run.name)
            crossed = crossed_run(side, *pair, differences)
            if crossed is not None:
                sides.setdefault(crossed.switched, side)
    return list(sides.values())


def _nearby_runs(runs: Sequence[RunFolder]) -> list[RunFolder]:
    """Complete runs in the same folders, of the same models, benchmark and data; newest first."""
    paths = {run.path.resolve() for run in runs}
    identities = [run.info.config.identity for run in runs]
    names = {(identity.provider, identity.name) for identity in identities}
    digests = {run.info.data.digest for run in runs}
    runs_by_path: dict[Path, RunFolder] = {}
    parents = dict.fromkeys(path.parent for path in sorted(paths))
    for folder in (path for parent in parents for path in (parent, parent / CROSSED_FOLDER)):
        for run in find_runs(folder) if any(folder.glob(RUN_FILES)) else ():
            config = run.info.config
            fits = (
                run.info.status == "complete"
                and run.info.benchmark == runs[0].info.benchmark
                and (config.identity.provider, config.identity.name) in names
                and run.info.data.digest in digests
            )
            if fits and run.path.resolve() not in paths:
                runs_by_path.setdefault(run.path.resolve(), run)
    return sorted(runs_by_path.values(), key=lambda run: (run.info.created, run.name), reverse=True)


class _ReplyRescorer:
    """Parses and scores the replies of runs again, each combination once. `problems` are sentences
    about replies that cannot be parsed again."""

    def __init__(self, pair: tuple[RunRecords, RunRecords], moved: Sequence[str]) -> None:
        self.problems: list[str] = []
        self._pair, self._moved = pair, moved
        self._scores: dict[tuple[int, frozenset[Cause]], Mapping[str, float]] = {}
        self._reproducible: dict[int, frozenset[str] | None] = {}

    def __call__(self, side: RunRecords, switched: frozenset[Cause]) -> Mapping[str, float]:
        """Scores of a side by sample id, with parsing and scoring of the second run where these
        causes are `switched`, else of the first; {} if they cannot be had."""
        key = id(side.records), switched
        if key not in self._scores:
            self._scores[key] = self._rescore(side, switched)
        return self._scores[key]

    def _rescore(self, side: RunRecords, switched: frozenset[Cause]) -> Mapping[str, float]:
        infos = [records.info for records in (side, *self._pair)]
        if infos[0] is None or infos[1] is None or infos[2] is None:
            return {}
        scores = self._parse_and_score(side, _info_with_parsing(infos[0], infos[1], infos[2], switched))
        same = self._reproducible_samples(side, infos[0])
        return {name: score for name, score in scores.items() if same is None or name in same}

    def _reproducible_samples(self, side: RunRecords, info: RunInfo) -> frozenset[str] | None:
        """Samples that get their recorded score when parsed as they were then.

        Only for these is a changed score surely an effect of parsing. None if an earlier version
        scored the run, so that nothing can be compared."""
        key = id(side.records)
        if key not in self._reproducible:
            scores, recorded = self._parse_and_score(side, info), counted_scores(side)
            same = frozenset(name for name, score in scores.items() if recorded.get(name) == score)
            self._reproducible[key] = same if scores else None
        return self._reproducible[key]

    def _parse_and_score(self, side: RunRecords, info: RunInfo) -> Mapping[str, float]:
        policy = cast(FailurePolicy, side.failures)
        try:
            benchmark = benchmark_as_recorded(info, self._moved)
        except UsageError as error:
            self.problems.append(f"replies cannot be read again: {error}")
            return {}
        if benchmark.version != info.config.version:
            return {}
        return rescore_records(benchmark, side.records, policy)


def _info_with_parsing(info: RunInfo, first: RunInfo, second: RunInfo, switched: frozenset[Cause]) -> RunInfo:
    """A run's settings, but parsing, scoring and data of the second run where these causes are
    `switched`, and of the first run otherwise."""
    parameters = info.config.parameters
    for cause, names in (("extraction", PARSING_PARAMETERS), ("scoring", SCORING_PARAMETERS)):
        theirs = (second if cause in switched else first).config.parameters
        unchanged = {name: value for name, value in parameters.items() if name not in names}
        parameters = {**unchanged, **{name: theirs[name] for name in names if name in theirs}}
    extractor_roles = (second if "extraction" in switched else first).config.roles
    roles = {role: identity for role, identity in info.config.roles.items() if role != EXTRACTOR}
    if EXTRACTOR in extractor_roles:
        roles[EXTRACTOR] = extractor_roles[EXTRACTOR]
    data = second if "data" in switched else first
    version = second if "scoring" in switched else first
    config = structs.replace(
        info.config, parameters=parameters, data=data.config.data, version=version.config.version, roles=roles
    )
    return structs.replace(info, config=config, data=data.data)


def _headline_notice(run: RunFolder, name: str, mean: float) -> Iterator[str]:
    """A notice if the headline is not the mean of the samples' scores, which is what is split."""
    if not run.has_report:
        return
    headline = run.report().summary.headline
    if headline.value is not None and abs(headline.value - mean) > _MEAN_TOLERANCE:
        yield (
            f"{name}: the headline {headline.name} is {headline.value:.1f} and no mean over "
            f"samples; split is the mean of the samples' scores, {mean:.1f}"
        )


def _names(runs: Sequence[RunFolder], folders: Sequence[Path]) -> list[str]:
    """Names of the runs that differ: of their models, else of their folders, else their paths."""
    for names in (
        [run.info.model for run in runs],
        [folder.name for folder in folders],
        [str(folder) for folder in folders],
    ):
        if len(set(names)) == len(names):
            return names
    return ["first", "second"]


def _open_single_run(path: Path) -> RunFolder:
    """The run of a folder, or the only run in it. Raises UsageError if there are several."""
    runs = find_runs(path)
    if len(runs) > 1:
        raise UsageError(f"{path} holds {len(runs)} runs; name one, e.g. {path / runs[0].path.name}")
    return open_run(runs[0].path)


def _side(run: RunFolder, name: str, hides_settings: bool = False) -> RunRecords:
    """The records of a run; with `hides_settings` replies alone, as of a file of predictions."""
    records = {record.id: record for record in chain(run.records(), run.failures())}
    info = run.info
    known = None if hides_settings else info
    return RunRecords(name, info.benchmark, records, info.failures, known)
