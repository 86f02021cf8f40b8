"""Runs as a model repository of the Hugging Face hub states results: `.eval_results/*.yaml`.

Each entry names a benchmark data set of the hub, one of its tasks, and a value
(https://huggingface.co/docs/hub/eval-results). An entry stands for the whole benchmark as its
authors ask it, so that runs of a part, without images, or with failed questions are refused.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import NamedTuple

from snellen.core.errors import UsageError
from snellen.core.run import Report
from snellen.data.tables.hub import SCHEME, DatasetName
from snellen.store.runs import RunFolder

TASK = "task"
"""Parameter of a run that names the task of an `eval.yaml`."""
_PLAIN = {"rule": "snellen", "shots": "0", "cot": "off", "circular": "", "prompt": ""}
"""Parameters that are not worth a note at these values."""


class ResultTarget(NamedTuple):
    """A task of a benchmark data set; empty parts are taken from the run."""

    dataset: str = ""
    task: str = ""
    source_url: str = ""
    """Where the replies, or the report, can be read."""


OWN_TASK = ResultTarget()
"""The data set and the task that the run itself names."""


def hub_results_yaml(runs: Sequence[RunFolder], target: ResultTarget = OWN_TASK) -> str:
    """The entries of one file. Raises UsageError for a run that is not a result of a whole
    benchmark, or whose data set or task is not known."""
    models = list(dict.fromkeys(run.info.model for run in runs))
    if len(models) > 1:
        raise UsageError(f"results lie in the repository of one model; got runs of {', '.join(models)}")
    return "".join(_entry(run, target) for run in runs)


def _entry(run: RunFolder, target: ResultTarget) -> str:
    """The YAML entry of a run. Raises UsageError if its data set or task is unknown, or if it is
    not a result of the whole benchmark."""
    report = run.report()
    _check_whole(run, report)
    info, headline = report.run, report.summary.headline
    dataset, revision = _dataset(run, target)
    task = target.task or info.config.parameters.get(TASK, "")
    if not task:
        raise UsageError(
            f"{run.path} does not say which task of {dataset} it is; name it as in the data set's "
            "eval.yaml: --facts task=ID"
        )
    lines = ["- dataset:", f"    id: {_scalar(dataset)}", f"    task_id: {_scalar(task)}"]
    if revision:
        lines.append(f"    revision: {_scalar(revision)}")
    lines.append(f"  value: {round(headline.value or 0.0, 4)}")
    lines.append(f"  date: {_scalar((info.finished or info.created)[:10])}")
    if target.source_url:
        lines += ["  source:", f"    url: {_scalar(target.source_url)}", "    name: Snellen report"]
    lines.append(f"  notes: {_scalar(_notes(report))}")
    return "\n".join(lines) + "\n"


def _check_whole(run: RunFolder, report: Report) -> None:
    info = report.run
    reason = ""
    if info.status != "complete":
        reason = f"is {info.status}"
    elif report.summary.headline.value is None:
        reason = "has no score"
    elif info.config.limit is not None:
        reason = f"asked {info.counts.samples} of {info.data.rows} questions (--limit)"
    elif info.config.until and info.counts.done < info.counts.samples:
        reason = f"stopped early (--until {info.config.until})"
    elif info.config.parameters.get("control"):
        reason = f"is a control ({info.config.parameters['control']})"
    if reason:
        raise UsageError(f"{run.path} {reason}, and a result on the hub stands for the whole benchmark; run all of it")


def _dataset(run: RunFolder, target: ResultTarget) -> tuple[str, str]:
    """The data set's id and revision."""
    data = run.info.data
    spec = data.origin.file if data.origin is not None else ""
    spec = spec if spec.startswith(SCHEME) else data.path
    own = DatasetName.parse(spec) if spec.startswith(SCHEME) else None
    if target.dataset:
        same = own is not None and own.name == target.dataset
        return target.dataset, (own.revision or "") if same and own is not None else ""
    if own is None:
        raise UsageError(
            f"{run.path} does not say which data set of the hub its data are; name it with --facts dataset=ORG/NAME"
        )
    return own.name, own.revision or ""


def _notes(report: Report) -> str:
    """What a reader of the leaderboard must know: the metric, its interval, and every setting that
    is not the plain one."""
    headline, config = report.summary.headline, report.run.config
    parts = [headline.name, f"n={headline.n}"]
    if headline.interval is not None:
        low, high = headline.interval.low, headline.interval.high
        parts.append(f"{headline.interval.level:.0%} interval {low:.1f}-{high:.1f}")
    for name, value in config.parameters.items():
        if name not in (TASK, "split") and value != _PLAIN.get(name):
            parts.append(f"{name}={value}")
    if config.repeats > 1:
        parts.append(f"mean of {config.repeats} replies")
    parts.append(f"snellen {report.run.versions.get('snellen', '')}".strip())
    return ", ".join(parts)


def _scalar(text: str) -> str:
    """A YAML scalar; JSON strings are valid YAML."""
    return json.dumps(text, ensure_ascii=False)
