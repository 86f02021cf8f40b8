"""`why`: the difference of two runs, or of a run and recorded predictions, split by cause."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from msgspec import structs

from snellen.analysis.causes.factors import (
    SWITCHABLE,
    Cause,
    Differences,
    RunRecords,
    find_differences,
)
from snellen.analysis.causes.why import DifferenceSplit, counted_scores, crossed_run, why
from snellen.analysis.comparison.reopened_data import benchmark_as_recorded, benchmark_with_data
from snellen.analysis.parsing.rescore import rescore_records
from snellen.analysis.published.explanation import PublishedExplanation, explain_published
from snellen.core.errors import UsageError
from snellen.core.run import RunInfo
from snellen.data.predictions import read_predictions
from snellen.engine.offline.score_recorded import score_replies
from snellen.extract.llm import EXTRACTOR
from snellen.scoring.accuracy import FailurePolicy
from snellen.store.runs import RUN_FILE, RunFolder, find_runs, open_run

_MEAN_TOLERANCE = 0.05
"""Points by which a headline may differ from the mean of its samples."""
CROSSED_FOLDER = "crossed"
"""Folder of the runs of `why --ask`, next to one of the two runs they compare."""
_PARSING_PARAMETERS = ("rule", "rule_commit", "normalisation")
_SCORING_PARAMETERS = ("circular",)
"""Parameters of how replies are parsed, and of how answers are scored."""


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
    moved: Sequence[str] = (),
) -> Explanation:
    """Split the difference of two scores by cause, with `examples` samples of each cause.

    Both are run folders, or one is a file of predictions: its replies are parsed and scored by the
    benchmark of the other, on the data of that run, which may have been `moved` to one of these
    files. `level` is that of the intervals.

    If several causes differ at once, runs that are as the first in some of them and as the second
    in the others separate them: first the runs `others`, then runs next to the two.

    Raises UsageError subclasses, also if one of `others` separates nothing.
    """
    paths = Path(first), Path(second)
    folders = [path for path in paths if path.is_dir()]
    if not folders:
        raise UsageError(
            f"{first} and {second} are no run folders; give two of them, or one and a file of "
            "predictions"
        )
    runs = [_open_single_run(path) for path in folders]
    names = _names(runs, folders)
    warnings: tuple[str, ...] = ()
    sides: list[RunRecords] = []
    for path in paths:
        if path.is_dir():
            index = len([side for side in sides if side.info is not None])
            sides.append(_side(runs[index], names[index]))
        else:
            side, warnings = _import_predictions(path, runs[0], moved)
            sides.append(side)
    pair = sides[0], sides[1]
    differences = find_differences(*pair)
    helpers = [] if warnings or len(runs) < 2 else _sides_between(pair, differences, runs, others)
    rescorer = _ReplyRescorer(pair, moved)
    split = why(*pair, others=helpers, rescore=rescorer, examples=examples, level=level)
    scores = {split.first: split.first_score, split.second: split.second_score}
    mean_notices = [line for run, name in zip(runs, names, strict=True)
            for line in _headline_notice(run, name, scores[name])]  # fmt: skip
    unfinished = [f"{side.name} is not complete" for side in helpers
                  if side.info is not None and side.info.status != "complete"]  # fmt: skip
    notices = (*split.notices, *unfinished, *dict.fromkeys(rescorer.problems), *mean_notices)
    return Explanation(structs.replace(split, notices=notices), warnings, pair, runs[0].path)


def explain_against_published(folder: Path | str) -> PublishedExplanation:
    """Compare a run with the published numbers of its model on its benchmark, and name the settings
    that differ from theirs, as far as these are known.

    Raises UsageError subclasses: no run, no score, no number that it can be compared with.
    """
    path = Path(folder)
    if not path.is_dir():
        raise UsageError(f"{folder} is no run folder; give one, or two runs to compare")
    run = _open_single_run(path)
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
    if len(differences.causes & {*SWITCHABLE, "judge", "extraction"}) > 1:
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
        for run in find_runs(folder) if any(folder.glob(f"*/{RUN_FILE}")) else ():
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
        scores = self._parse_and_score(
            side, _info_with_parsing(infos[0], infos[1], infos[2], switched)
        )
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
        policy: FailurePolicy = "count-wrong" if side.failures == "count-wrong" else "exclude"
        try:
            benchmark = benchmark_as_recorded(info, self._moved)
        except UsageError as error:
            self.problems.append(f"replies cannot be read again: {error}")
            return {}
        if benchmark.version != info.config.version:
            return {}
        return rescore_records(benchmark, side.records, policy)


def _info_with_parsing(
    info: RunInfo, first: RunInfo, second: RunInfo, switched: frozenset[Cause]
) -> RunInfo:
    """A run's settings, but parsing, scoring and data of the second run where these causes are
    `switched`, and of the first run otherwise."""
    parameters = info.config.parameters
    for cause, names in (("extraction", _PARSING_PARAMETERS), ("scoring", _SCORING_PARAMETERS)):
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
        info.config,
        parameters=parameters,
        data=data.config.data,
        version=version.config.version,
        roles=roles,
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
        raise UsageError(
            f"{path} holds {len(runs)} runs; name one, e.g. {path / runs[0].path.name}"
        )
    return open_run(runs[0].path)


def _side(run: RunFolder, name: str) -> RunRecords:
    records = chain(run.records(), run.failures())
    info = run.info
    return RunRecords(
        name, info.benchmark, {record.id: record for record in records}, info.failures, info
    )


def _import_predictions(
    path: Path, run: RunFolder, moved: Sequence[str]
) -> tuple[RunRecords, tuple[str, ...]]:
    """Score a file of predictions by the benchmark of a run, for the samples of that run."""
    predictions = read_predictions(path)
    records, warnings = score_replies(
        benchmark_with_data(run, moved), predictions.replies(), predictions.digest
    )
    ids = {record.id for record in chain(run.records(), run.failures())}
    records_by_id = {
        record.id: record for record in records if run.info.config.limit is None or record.id in ids
    }
    name, failures = path.name, run.info.failures
    return RunRecords(name, run.info.benchmark, records_by_id, failures), (
        *predictions.warnings,
        *warnings,
    )
