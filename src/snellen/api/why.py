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
"""The folder of runs that were asked to tell causes apart, beside one of the two they are about."""
_PARSING_PARAMETERS = ("rule", "rule_commit", "normalisation")
_SCORING_PARAMETERS = ("circular",)
"""Parameters that say how replies are read, and how what was read is scored."""


class Explanation(NamedTuple):
    """The split, warnings about a file of predictions, and what was split; `folder` is that of the
    first run."""

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
    """Why the second scored otherwise than the first. Each is a run folder, or one of them a file
    of predictions, which is read and graded as the other's benchmark does, over the data of that
    run; `moved` are files in which these may be now.

    Where several causes differ at once, runs in the same folders that are as one of the two in each
    of them tell them apart; so do the runs `others`, which are used before these.

    Raises UsageError subclasses, also where one of `others` tells nothing of the two.
    """
    given = Path(first), Path(second)
    folders = [path for path in given if path.is_dir()]
    if not folders:
        raise UsageError(
            f"{first} and {second} are no run folders; give two of them, or one and a file of "
            "predictions"
        )
    runs = [_open_single_run(path) for path in folders]
    names = _names(runs, folders)
    warnings: tuple[str, ...] = ()
    sides: list[RunRecords] = []
    for path in given:
        if path.is_dir():
            at = len([side for side in sides if side.info is not None])
            sides.append(_side(runs[at], names[at]))
        else:
            side, warnings = _import_predictions(path, runs[0], moved)
            sides.append(side)
    pair = sides[0], sides[1]
    differ = find_differences(*pair)
    helpers = [] if warnings or len(runs) < 2 else _sides_between(pair, differ, runs, others)
    reader = _ReplyRescorer(pair, moved)
    found = why(*pair, others=helpers, rescore=reader, examples=examples, level=level)
    scores = {found.first: found.first_score, found.second: found.second_score}
    told = [line for run, name in zip(runs, names, strict=True)
            for line in _headline_notice(run, name, scores[name])]  # fmt: skip
    unfinished = [f"{side.name} is not complete" for side in helpers
                  if side.info is not None and side.info.status != "complete"]  # fmt: skip
    notices = (*found.notices, *unfinished, *dict.fromkeys(reader.problems), *told)
    return Explanation(structs.replace(found, notices=notices), warnings, pair, runs[0].path)


def _sides_between(
    pair: tuple[RunRecords, RunRecords],
    differ: Differences,
    runs: Sequence[RunFolder],
    requested: Sequence[Path | str | RunFolder],
) -> list[RunRecords]:
    """Runs that tell the causes apart, one for each combination: those that were named, then those
    that lie beside the two. Raises UsageError for one that was named and tells nothing."""
    found: dict[frozenset[Cause], RunRecords] = {}
    for one in requested:
        run = one if isinstance(one, RunFolder) else _open_single_run(Path(one))
        side = _side(run, run.name)
        crossed = crossed_run(side, *pair, differ)
        if crossed is None:
            raise UsageError(
                f"{run.name} tells nothing of what sets {pair[0].name} and {pair[1].name} apart; "
                "expected a run of the same benchmark and data that is as the first in some of "
                f"what differs ({', '.join(sorted(differ.causes)) or 'nothing'}) and as the second "
                "in the rest"
            )
        found.setdefault(crossed.switched, side)
    if len(differ.causes & {*SWITCHABLE, "judge", "extraction"}) > 1:
        for run in _nearby_runs(runs):
            side = _side(run, run.name)
            crossed = crossed_run(side, *pair, differ)
            if crossed is not None:
                found.setdefault(crossed.switched, side)
    return list(found.values())


def _nearby_runs(runs: Sequence[RunFolder]) -> list[RunFolder]:
    """The complete runs in the folders of these that may lie between them, the newest first."""
    paths = {run.path.resolve() for run in runs}
    identities = [run.info.config.identity for run in runs]
    names = {(one.provider, one.name) for one in identities}
    digests = {run.info.data.digest for run in runs}
    found: dict[Path, RunFolder] = {}
    parents = dict.fromkeys(path.parent for path in sorted(paths))
    for folder in (one for parent in parents for one in (parent, parent / CROSSED_FOLDER)):
        for run in find_runs(folder) if any(folder.glob(f"*/{RUN_FILE}")) else ():
            config = run.info.config
            fits = (
                run.info.status == "complete"
                and run.info.benchmark == runs[0].info.benchmark
                and (config.identity.provider, config.identity.name) in names
                and run.info.data.digest in digests
            )
            if fits and run.path.resolve() not in paths:
                found.setdefault(run.path.resolve(), run)
    return sorted(found.values(), key=lambda run: (run.info.created, run.name), reverse=True)


class _ReplyRescorer:
    """Reads the replies of the runs again, each way once. `problems` says why some cannot be."""

    def __init__(self, pair: tuple[RunRecords, RunRecords], moved: Sequence[str]) -> None:
        self.problems: list[str] = []
        self._pair, self._moved = pair, moved
        self._scores: dict[tuple[int, frozenset[Cause]], Mapping[str, float]] = {}
        self._reproducible: dict[int, frozenset[str] | None] = {}

    def __call__(self, side: RunRecords, switched: frozenset[Cause]) -> Mapping[str, float]:
        """`analysis.attribution.ReadAgain`."""
        key = id(side.records), switched
        if key not in self._scores:
            self._scores[key] = self._rescore(side, switched)
        return self._scores[key]

    def _rescore(self, side: RunRecords, switched: frozenset[Cause]) -> Mapping[str, float]:
        infos = [one.info for one in (side, *self._pair)]
        if infos[0] is None or infos[1] is None or infos[2] is None:
            return {}
        scores = self._parse_and_score(
            side, _info_with_parsing(infos[0], infos[1], infos[2], switched)
        )
        same = self._reproducible_samples(side, infos[0])
        return {name: score for name, score in scores.items() if same is None or name in same}

    def _reproducible_samples(self, side: RunRecords, info: RunInfo) -> frozenset[str] | None:
        """Samples whose replies, read as they were, score what they did: only those are sure to be
        the replies that the reading is about. None where an earlier version read them."""
        key = id(side.records)
        if key not in self._reproducible:
            scores, own = self._parse_and_score(side, info), counted_scores(side)
            same = frozenset(name for name, score in scores.items() if own.get(name) == score)
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
    """A run's settings, but read and scored as the second run where that is `switched`, else as the
    first."""
    parameters = info.config.parameters
    for cause, names in (("extraction", _PARSING_PARAMETERS), ("scoring", _SCORING_PARAMETERS)):
        like = (second if cause in switched else first).config.parameters
        kept = {name: value for name, value in parameters.items() if name not in names}
        parameters = {**kept, **{name: like[name] for name in names if name in like}}
    reader = (second if "extraction" in switched else first).config.roles
    roles = {role: one for role, one in info.config.roles.items() if role != EXTRACTOR}
    if EXTRACTOR in reader:
        roles[EXTRACTOR] = reader[EXTRACTOR]
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
    """Says so where the headline is something else than the mean of the samples' scores."""
    if not run.has_report:
        return
    headline = run.report().summary.headline
    if headline.value is not None and abs(headline.value - mean) > _MEAN_TOLERANCE:
        yield (
            f"{name}: the headline {headline.name} is {headline.value:.1f} and no mean over "
            f"samples; split is the mean of the samples' scores, {mean:.1f}"
        )


def _names(runs: Sequence[RunFolder], folders: Sequence[Path]) -> list[str]:
    """The models' names where they differ, else the folders as they were given: what sets the
    runs apart is told beside."""
    for names in (
        [run.info.model for run in runs],
        [folder.name for folder in folders],
        [str(folder) for folder in folders],
    ):
        if len(set(names)) == len(names):
            return names
    return ["first", "second"]


def _open_single_run(path: Path) -> RunFolder:
    """The run of a folder, or the only one in it."""
    found = find_runs(path)
    if len(found) > 1:
        raise UsageError(
            f"{path} holds {len(found)} runs; name one, e.g. {path / found[0].path.name}"
        )
    return open_run(found[0].path)


def _side(run: RunFolder, name: str) -> RunRecords:
    records = chain(run.records(), run.failures())
    info = run.info
    return RunRecords(name, info.benchmark, {one.id: one for one in records}, info.failures, info)


def _import_predictions(
    path: Path, run: RunFolder, moved: Sequence[str]
) -> tuple[RunRecords, tuple[str, ...]]:
    """Predictions through the flow of the run's own benchmark; for its samples alone."""
    read = read_predictions(path)
    records, warnings = score_replies(benchmark_with_data(run, moved), read.replies(), read.digest)
    asked = {one.id for one in chain(run.records(), run.failures())}
    kept = {one.id: one for one in records if run.info.config.limit is None or one.id in asked}
    name, failures = path.name, run.info.failures
    return RunRecords(name, run.info.benchmark, kept, failures), (*read.warnings, *warnings)
