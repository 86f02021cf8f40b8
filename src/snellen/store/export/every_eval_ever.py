"""Runs in the schema of Every Eval Ever, version 0.3.0: a record of the numbers, and a line for
each scored question.

A record lies at `data/<benchmark>/<developer>/<model>/<uuid>.json`, its lines next to it in
`<uuid>_samples.jsonl`, as the project's datastore has them. Percentages are proportions from 0 to
1, as in its registry of metrics. Questions without a score have no line, because a line must have
one; the record says how many they are.
"""

from __future__ import annotations

import hashlib
import json
import re
import time
import uuid
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any, Literal, NamedTuple, get_args

import msgspec

from snellen.core.errors import UsageError
from snellen.core.output import Usage
from snellen.core.record import Record
from snellen.core.run import Report, RunInfo
from snellen.core.summary import Metric, Summary
from snellen.data.tables.hub import SCHEME, DatasetName
from snellen.store.export.asked_passes import AskedPass, ExportedFile, asked_passes, ordered_records
from snellen.store.runs import RunFolder

SCHEMA_VERSION = "0.3.0"
Relationship = Literal["first_party", "third_party", "collaborative", "other"]
RELATIONSHIPS: tuple[str, ...] = get_args(Relationship)
"""What the evaluator is to the model's developer."""

_BASELINES = frozenset({"chance", "frequent"})
_LOCAL_PROVIDERS = frozenset(
    {
        "hf",
        "vllm",
        "vllm-local",
        "sglang",
        "lmdeploy",
        "transformers",
        "ollama",
        "llamacpp",
        "diffusers",
        "clip",
        "frequent",
        "random",
        "snellen",
    }
)
_CLOSED_PROVIDERS = frozenset({"openai", "anthropic", "google", "gemini", "xai", "azure"})
_ENGINES = {"hf": "transformers", "vllm": "vLLM", "vllm-local": "vLLM", "sglang": "SGLang"}

Json = dict[str, Any]


class Evaluator(NamedTuple):
    """Who ran the evaluation."""

    organization: str = ""
    relationship: str = "other"


UNKNOWN = Evaluator()


def every_eval_ever_files(runs: Sequence[RunFolder], evaluator: Evaluator = UNKNOWN) -> list[ExportedFile]:
    """A record and its lines for each run. Raises UsageError for a run without a score."""
    return [file for run in runs for file in _run_files(run, evaluator)]


def _run_files(run: RunFolder, evaluator: Evaluator) -> Iterator[ExportedFile]:
    """The record of a run, and its lines if a sample has a score. Raises UsageError without a
    headline."""
    report, records = run.report(), ordered_records(run)
    if report.summary.headline.value is None:
        raise UsageError(
            f"{run.path} has no score, and a record of Every Eval Ever is one; `snellen report` says why there is none"
        )
    key = _Key.of(report.run)
    scored = [record for record in records if record.score is not None]
    lines = [_line(record, key) for record in scored]
    text = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)
    log = _record(report, evaluator, key)
    if lines:
        log["detailed_evaluation_results"] = {
            "format": "jsonl",
            "file_path": f"{key.path}_samples.jsonl",
            "hash_algorithm": "sha256",
            "checksum": hashlib.sha256(text.encode()).hexdigest(),
            "total_rows": len(lines),
            "additional_details": {"unscored_questions": str(len(records) - len(scored))},
        }
    pretty = msgspec.json.format(msgspec.json.encode(log), indent=2).decode() + "\n"
    yield ExportedFile(f"{key.path}.json", pretty)
    if lines:
        yield ExportedFile(f"{key.path}_samples.jsonl", text)


class _Key(NamedTuple):
    """The names of a run's files: equal exports of one run have equal names."""

    benchmark: str
    model: str
    """`developer/model`."""
    evaluation: str
    path: str
    """Path of the record without its suffix."""

    @property
    def headline(self) -> str:
        return f"{self.benchmark}/headline"

    @classmethod
    def of(cls, info: RunInfo) -> _Key:
        model = _model_id(info)
        developer, _, name = model.partition("/")
        seconds = int(datetime.fromisoformat(info.finished or info.created).timestamp())
        # The settings that make two runs of a model differ are part of the digest in the name.
        evaluation = f"{info.benchmark}/{model}/{info.name[-8:]}/{seconds}"
        digest = hashlib.sha256(f"{info.name} {info.created}".encode()).digest()
        name_4 = uuid.UUID(bytes=digest[:16], version=4)
        folders = "/".join(map(_portable, (info.benchmark, developer, name)))
        return cls(info.benchmark, model, evaluation, f"data/{folders}/{name_4}")


def _record(report: Report, evaluator: Evaluator, key: _Key) -> Json:
    """The record without the reference to its lines."""
    info = report.run
    return {
        "schema_version": SCHEMA_VERSION,
        "evaluation_id": key.evaluation,
        "evaluation_timestamp": info.finished or info.created,
        "retrieved_timestamp": str(int(time.time())),
        "source_metadata": {
            "source_name": "Snellen",
            "source_type": "evaluation_run",
            "source_organization_name": evaluator.organization or "unknown",
            "evaluator_relationship": evaluator.relationship,
        },
        "eval_library": {
            "name": "snellen",
            "version": info.versions.get("snellen", "unknown"),
            "additional_details": dict(info.versions),
        },
        "model_info": _model_info(info, key.model),
        "evaluation_results": _results(report, key),
    }


def _model_id(info: RunInfo) -> str:
    """`developer/model`: that of the hub where the name is one, else provider and name."""
    identity = info.config.identity
    parts = [part for part in identity.name.split("/") if part not in ("", ".", "..")]
    if len(parts) == 2:
        return "/".join(parts)
    return f"{identity.provider}/{'_'.join(parts) or identity.name}"


def _model_info(info: RunInfo, model: str) -> Json:
    """The model, and how it is deployed and available as far as its provider shows."""
    identity = info.config.identity
    provider = identity.provider
    deployment = "self_deployed" if provider in _LOCAL_PROVIDERS else "unknown"
    availability = "unknown"
    if provider in _CLOSED_PROVIDERS:
        deployment, availability = "externally_managed", "closed_weights"
    if provider in ("hf", "snellen"):
        availability = "open_weights"
    details = {name: str(value) for name, value in identity.facts.items()}
    value: Json = {
        "name": info.model,
        "id": model,
        "developer": model.split("/", 1)[0],
        "inference_platform": provider,
        "additional_details": {**details, "deployment_type": deployment, "model_availability": availability},
    }
    if provider in _ENGINES:
        name = _ENGINES[provider]
        version = info.versions.get(name.lower())
        value["inference_engine"] = {"name": name} | ({"version": version} if version else {})
    return value


def _results(report: Report, key: _Key) -> list[Json]:
    """The headline, then the other numbers, then the groups. Baselines are no results of the
    model."""
    info, summary = report.run, report.summary
    headline = summary.headline
    results = [_result(info, key.headline, key.benchmark, headline, summary)]
    for name, metric in summary.metrics.items():
        if name != headline.name and name not in _BASELINES and metric.value is not None:
            results.append(_result(info, f"{key.benchmark}/{name}", key.benchmark, metric))
    for column, groups in summary.groups.items():
        for group, metric in groups.items():
            if metric.value is not None:
                name = f"{key.benchmark}.{column}.{group}"
                results.append(_result(info, f"{key.benchmark}/{column}/{group}", name, metric))
    return results


def _result(info: RunInfo, identifier: str, name: str, metric: Metric, summary: Summary | None = None) -> Json:
    """A metric as an evaluation result; percentages become proportions from 0 to 1. With `summary`,
    outcomes and baselines are added."""
    assert metric.value is not None
    factor = 0.01 if metric.unit == "percent" else 1.0
    own = metric.name if metric.name == "accuracy" else f"snellen.{info.benchmark}.{metric.name}"
    score = metric.value * factor
    details = {"value": repr(metric.value), "unit": metric.unit, "n": str(metric.n)}
    details |= {} if summary is None else _summary_details(summary)
    uncertainty: Json = {"num_samples": metric.n}
    if metric.interval is not None:
        uncertainty["confidence_interval"] = {
            "lower": metric.interval.low * factor,
            "upper": metric.interval.high * factor,
            "confidence_level": metric.interval.level,
            "method": metric.interval.method,
        }
    return {
        "evaluation_result_id": identifier,
        "evaluation_name": name,
        "source_data": _source_data(info),
        "evaluation_timestamp": info.finished or info.created,
        "metric_config": {
            "evaluation_description": info.title,
            "metric_id": own,
            "metric_name": metric.name,
            "metric_kind": metric.name,
            "metric_unit": "proportion" if factor < 1 else metric.unit,
            "lower_is_better": False,
            "score_type": "continuous",
            "min_score": 0.0 if score >= 0 else "-Infinity",
            "max_score": metric.top * factor,
            "additional_details": {name: str(value) for name, value in info.config.parameters.items()},
        },
        "score_details": {"score": score, "details": details, "uncertainty": uncertainty},
        "generation_config": {"generation_args": _generation(info)},
    }


def _summary_details(summary: Summary) -> dict[str, str]:
    metrics = summary.metrics
    return (
        {f"outcome_{outcome}": str(count) for outcome, count in summary.outcomes.items()}
        | {baseline: repr(metrics[baseline].value) for baseline in sorted(_BASELINES) if baseline in metrics}
        | {"notices": json.dumps(summary.notices, ensure_ascii=False)}
    )


def _generation(info: RunInfo) -> Json:
    sampling = info.config.sampling.get("model")
    arguments: Json = {"max_tokens": max(1, info.config.longest_reply)}
    if sampling is not None and sampling.temperature is not None:
        arguments["temperature"] = sampling.temperature
    if sampling is not None and sampling.top_p is not None:
        arguments["top_p"] = sampling.top_p
    if info.command:
        arguments["execution_command"] = info.command
    return arguments


def _source_data(info: RunInfo) -> Json:
    """The data: a data set of the hub, a URL, or another source, with digest and number of rows."""
    data = info.data
    details = {"sha256": data.digest, "rows": str(data.rows)}
    origin = data.origin
    if origin is not None:
        details |= {"origin": origin.kind} | ({"published": origin.published} if origin.published else {})
    spec = origin.file if origin is not None and origin.file.startswith(SCHEME) else data.path
    if spec.startswith(SCHEME):
        name = DatasetName.parse(spec)
        value: Json = {
            "dataset_name": info.benchmark,
            "source_type": "hf_dataset",
            "hf_repo": name.name,
            "samples_number": data.rows,
        }
        return value | ({"hf_split": name.split} if name.split else {}) | {"additional_details": details}
    urls = [text for text in (info.source, info.paper) if re.match(r"https?://", text)]
    if urls:
        return {"dataset_name": info.benchmark, "source_type": "url", "url": urls, "additional_details": details}
    return {
        "dataset_name": info.benchmark,
        "source_type": "other",
        "additional_details": details | ({"source": info.source} if info.source else {}),
    }


def _line(record: Record, key: _Key) -> Json:
    """The line of a scored question, with the replies of all its passes."""
    passes = list(asked_passes(record))
    first = passes[0]
    raw, reference = record.question, list(record.gold)
    reasoning = [one.reasoning for one in passes if one.reasoning]
    line: Json = {
        "schema_version": SCHEMA_VERSION,
        "evaluation_id": key.evaluation,
        "model_id": key.model,
        "evaluation_name": key.benchmark,
        "evaluation_result_id": key.headline,
        "sample_id": record.id,
        "sample_hash": _sample_hash(raw, reference),
        "interaction_type": "single_turn",
        "input": {
            "raw": raw,
            "formatted": "\n".join(message.text() for message in first.prompt) or None,
            "reference": reference,
            "choices": list(first.options.values()) or None,
        },
        "output": {"raw": [one.reply or "" for one in passes], "reasoning_trace": reasoning or None},
        "answer_attribution": [_attribution(record, first)],
        "evaluation": {"score": record.score, "is_correct": record.score == 1},
        "metadata": _line_metadata(record, passes),
    }
    usages = [one.usage for one in passes if one.usage is not None]
    if usages:
        line["token_usage"] = _token_usage(usages)
    seconds = [one.seconds for one in passes if one.seconds is not None]
    if seconds:
        line["performance"] = {"latency_ms": 1000 * sum(seconds)}
    return line


def _sample_hash(raw: str, reference: Sequence[str]) -> str:
    """SHA-256 by which the project joins questions: of compact JSON with sorted keys."""
    value = {"raw": raw, "reference": list(reference)}
    text = json.dumps(value, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def _attribution(record: Record, first: AskedPass) -> Json:
    parsed = record.passes[0].answer if record.passes else None
    rule = getattr(parsed, "rule", "")
    return {
        "turn_idx": 0,
        "source": "output.raw",
        "extracted_value": record.answer or first.answer or "",
        "extraction_method": rule or record.outcome,
        "is_terminal": True,
    }


def _line_metadata(record: Record, passes: Sequence[AskedPass]) -> dict[str, str]:
    labels = list(passes[0].options)
    return {
        **record.metadata,
        **record.groups,
        "kind": record.kind,
        "outcome": record.outcome,
        "replies": str(len(passes)),
        **({"option_labels": "".join(labels)} if labels else {}),
        **({"unit": record.unit} if record.unit else {}),
        **({"media_sha256": ",".join(record.media)} if record.media else {}),
    }


def _token_usage(usages: Sequence[Usage]) -> Json:
    prompt = sum(usage.prompt_tokens for usage in usages)
    reply = sum(usage.completion_tokens for usage in usages)
    return {
        "input_tokens": prompt,
        "output_tokens": reply,
        "total_tokens": prompt + reply,
        "input_tokens_cache_read": sum(usage.cached_tokens for usage in usages),
        "reasoning_tokens": sum(usage.reasoning_tokens for usage in usages),
    }


def _portable(name: str) -> str:
    """The name as a folder on any system."""
    return re.sub(r"[^\w.+-]+", "_", name).strip(". ") or "unknown"
