"""A run as the files of lmms-eval (`--output_path`, `--log_samples`): `<date>_results.json` and
`<date>_samples_<task>.jsonl` in a folder named after the model.

Keys are those of lmms-eval at its commit 75571cf (August 2026). The metric that a sample holds is
an object with the question's id, options and groups, as many of its tasks write it.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any

import msgspec

from snellen.core.errors import UsageError
from snellen.core.output import Usage
from snellen.core.run import Report, RoleUsage, RunInfo
from snellen.core.summary import Metric
from snellen.store.export.asked_passes import AskedPass, ExportedFile, asked_passes, ordered_records
from snellen.store.runs import RunFolder, require_single

FILTER = "none"
"""The filter that metrics are listed under."""
FAILED = "[LMMS_EVAL_REQUEST_FAILED after 1 retries]"
"""What lmms-eval writes for a failed request."""

Json = dict[str, Any]


def lmms_eval_files(runs: Sequence[RunFolder]) -> list[ExportedFile]:
    """The results of one model on one or more benchmarks, and the samples of each.

    Raises UsageError for runs of several models, or several runs of a benchmark, which share a
    results file in lmms-eval, and for repeated questions.
    """
    require_single(runs, "lmms-eval")
    models = list(dict.fromkeys(run.info.model for run in runs))
    if len(models) > 1:
        raise UsageError(
            f"lmms-eval's results are those of one model; got {', '.join(models)}: export the runs "
            "of each model to a folder of its own"
        )
    tasks = [run.info.benchmark for run in runs]
    repeated = [task for task in dict.fromkeys(tasks) if tasks.count(task) > 1]
    if repeated:
        raise UsageError(
            f"lmms-eval's results hold each task once; got several runs of {', '.join(repeated)}: "
            "export them to folders of their own"
        )
    samples = {run.info.benchmark: list(_samples(run)) for run in runs}
    reports = [run.report() for run in runs]
    stamp = _stamp(runs[0].info)
    folder = _path_part(models[0])
    results = _results(reports, samples, stamp)
    files = [ExportedFile(f"{folder}/{stamp}_results.json", _pretty(results))]
    for task, lines in samples.items():
        text = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)
        files.append(ExportedFile(f"{folder}/{stamp}_samples_{_path_part(task)}.jsonl", text))
    return files


def _results(reports: Sequence[Report], samples: dict[str, list[Json]], stamp: str) -> Json:
    """The results file of lmms-eval, keyed by task."""
    infos = [report.run for report in reports]
    first = infos[0]
    tasks = [info.benchmark for info in infos]
    metrics = {report.run.benchmark: _metrics(report) for report in reports}
    return {
        "results": {report.run.benchmark: _task_results(report, metrics[report.run.benchmark]) for report in reports},
        "group_subtasks": {task: [] for task in tasks},
        "configs": {info.benchmark: _task_config(info) for info in infos},
        "versions": {info.benchmark: info.config.version for info in infos},
        "n-shot": {info.benchmark: int(info.config.parameters.get("shots", 0)) for info in infos},
        "higher_is_better": {task: {metric.name: True for metric in metrics[task]} for task in tasks},
        "n-samples": {info.benchmark: {"original": info.data.rows, "effective": info.counts.samples} for info in infos},
        "config": _config(first),
        "git_hash": first.versions.get("git"),
        "git_branch": None,
        "lmms_eval_version": f"written by snellen {first.versions.get('snellen', '')}".strip(),
        "date": stamp,
        "usage": _usage(infos),
        "task_hashes": {
            task: _sha256("".join(f"sample_{index}{line['doc_hash']}" for index, line in enumerate(lines)))
            for task, lines in samples.items()
        },
        "model_source": first.config.identity.provider,
        "model_name": first.model,
        "model_name_sanitized": _path_part(first.model),
        "system_instruction": None,
        "system_instruction_sha": None,
        "fewshot_as_multiturn": None,
        "chat_template": None,
        "chat_template_sha": None,
        "start_time": 0.0,
        "end_time": sum(info.counts.seconds for info in infos),
        "total_evaluation_time_seconds": str(sum(info.counts.seconds for info in infos)),
    }


def _metrics(report: Report) -> list[Metric]:
    summary = report.summary
    return list({summary.headline.name: summary.headline, **summary.metrics}.values())


def _task_results(report: Report, metrics: Sequence[Metric]) -> Json:
    """Values from 0 to 1 where ours are percentages; points as they are."""
    cells: Json = {"alias": report.run.benchmark, "samples": report.summary.n}
    for metric in metrics:
        factor = 0.01 if metric.unit == "percent" else 1.0
        cells[f"{metric.name},{FILTER}"] = None if metric.value is None else metric.value * factor
        # Half the width of the interval is no standard error, so there is none to give.
        cells[f"{metric.name}_stderr,{FILTER}"] = "N/A"
        if metric.interval is not None:
            ends = [metric.interval.low * factor, metric.interval.high * factor]
            cells[f"{metric.name}_interval,{FILTER}"] = ends
    return cells


def _task_config(info: RunInfo) -> Json:
    return {
        "task": info.benchmark,
        "dataset_path": info.data.path,
        "test_split": info.config.parameters.get("split", ""),
        "output_type": "generate_until",
        "num_fewshot": int(info.config.parameters.get("shots", 0)),
        "generation_kwargs": {"max_new_tokens": info.config.longest_reply},
        "metadata": [{"version": info.config.version, **info.config.parameters, "data": info.data.digest}],
    }


def _config(info: RunInfo) -> Json:
    """The settings of the run under the names of lmms-eval's `config`."""
    seed = info.config.seed
    facts = ",".join(f"{name}={value}" for name, value in info.config.identity.facts.items())
    return {
        "model": info.model,
        "model_args": facts,
        "model_backend": info.config.identity.provider,
        "batch_size": info.counts.largest_batch or 1,
        "batch_sizes": [],
        "device": None,
        "use_cache": None,
        "limit": info.config.limit,
        "offset": 0,
        "bootstrap_iters": 0,
        "gen_kwargs": "",
        "random_seed": seed,
        "numpy_seed": seed,
        "torch_seed": seed,
        "fewshot_seed": int(info.config.parameters.get("shots_seed", 0)),
        "resolved_cli_args": {"command": info.command},
    }


def _usage(infos: Sequence[RunInfo]) -> Json:
    """Tokens of all replies; empty if none were counted."""
    by_task = {info.benchmark: _task_usage(info) for info in infos}
    keys = dict.fromkeys(key for usage in by_task.values() for key in usage)
    total = {key: sum(usage[key] for usage in by_task.values()) for key in keys}
    if not total["total_tokens"]:
        return {}
    return {
        "total": total,
        "by_task": by_task,
        "by_source": {"model": total},
        "budget_exceeded": False,
        "budget_total_tokens": None,
    }


def _task_usage(info: RunInfo) -> dict[str, int]:
    spent = info.spent.get("model", RoleUsage())
    both = (spent.usage, spent.reused_usage)
    prompt = sum(usage.prompt_tokens for usage in both)
    completion = sum(usage.completion_tokens for usage in both)
    reasoning = sum(usage.reasoning_tokens for usage in both)
    return {
        "input_tokens": prompt,
        # lmms-eval counts reasoning apart from the output.
        "output_tokens": completion - reasoning,
        "reasoning_tokens": reasoning,
        "total_tokens": prompt + completion,
        "n_api_calls": spent.answered,
    }


def _samples(run: RunFolder) -> Iterator[Json]:
    metric = run.info.headline
    passes = [one for record in ordered_records(run) for one in asked_passes(record)]
    # Rotations are rows that the data do not have, so that none has an index there.
    positions = [None if one.rotation else one.record.position for one in passes]
    known = None not in positions
    for index, (one, position) in enumerate(zip(passes, positions, strict=True)):
        yield _sample(one, position if known and position is not None else index, metric)


def _sample(one: AskedPass, index: int, metric: str) -> Json:
    cells = _cells(one)
    gold = list(one.gold)
    return {
        "doc_id": index,
        "target": str(gold[0] if len(gold) == 1 else gold) if gold else "",
        # `resps` is left out where it equals the filtered reply.
        "filtered_resps": FAILED if one.reply is None else one.reply,
        "token_counts": [_token_counts(one.usage)],
        "doc_hash": _sha256(json.dumps(cells, sort_keys=True, ensure_ascii=False)),
        metric: {**cells, "score": one.score},
        "input": "\n".join(message.text() for message in one.prompt) or one.record.question,
    }


def _token_counts(usage: Usage | None) -> dict[str, int] | None:
    if usage is None:
        return None
    counts = {"input_tokens": usage.prompt_tokens, "output_tokens": usage.completion_tokens}
    return counts | ({"reasoning_tokens": usage.reasoning_tokens} if usage.reasoning_tokens else {})


def _cells(one: AskedPass) -> Json:
    """The question as columns of the data."""
    record = one.record
    return {
        "index": one.id,
        "question": record.question,
        **one.options,
        **record.metadata,
        **record.groups,
        "type": record.kind,
    }


def _stamp(info: RunInfo) -> str:
    """When the run ended, as lmms-eval names its files: `20260806_102223`."""
    return datetime.fromisoformat(info.finished or info.created).strftime("%Y%m%d_%H%M%S")


def _path_part(name: str) -> str:
    """The name as a part of a path: `acme/tiny` becomes `acme__tiny`."""
    return re.sub(r"[^\w.+=-]+", "__", name)


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _pretty(value: Json) -> str:
    return msgspec.json.format(msgspec.json.encode(value), indent=2).decode() + "\n"
