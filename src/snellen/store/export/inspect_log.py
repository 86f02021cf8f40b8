"""A run as a log of Inspect (inspect_ai): an `.eval` archive, or one JSON document.

Log version 2, as inspect_ai 0.3.285 reads it. Every reply is a sample of the log: the draws of a
repeated question are its epochs, the rotations of CircularEval have ids of their own, as in
VLMEvalKit's files. A sample's `snellen` score is that of its reply; the metrics are the run's,
percentages as proportions from 0 to 1, as Inspect's own metrics are. Images are the run's
thumbnails, which the log holds itself.
"""

from __future__ import annotations

import base64
import hashlib
import io
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import msgspec

from snellen.core.output import Usage
from snellen.core.request import Media, Message
from snellen.core.run import RunInfo
from snellen.core.summary import Metric, Summary
from snellen.store.export.asked_passes import AskedPass, asked_passes, ordered_records
from snellen.store.runs import RunFolder

LOG_VERSION = 2
SCORER = "snellen"
CIRCULAR_SCORER = "snellen_circular"
"""Scorer of the first rotation's sample under CircularEval: the question as a whole."""

ReadImage = Callable[[str], bytes | None]
"""JPEG bytes of a medium by its digest; None if the run folder has none."""

_STOP_REASONS = {"stop": "stop", "length": "max_tokens", "refusal": "content_filter"}
_STATUS = {"complete": "success", "incomplete": "success", "interrupted": "cancelled"}
_ZIP_TIME = (1980, 1, 1, 0, 0, 0)
"""Equal runs give equal archives."""

Json = dict[str, Any]


def inspect_json(run: RunFolder, read_image: ReadImage) -> str:
    """The log as one JSON document."""
    log = _header(run) | {"samples": list(_samples(run, read_image))}
    return msgspec.json.format(msgspec.json.encode(log), indent=2).decode() + "\n"


def inspect_archive(run: RunFolder, read_image: ReadImage) -> bytes:
    """The log as an `.eval` archive: a header, a file for each sample, and their summaries."""
    header = _header(run)
    summaries: list[Json] = []
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        start = {key: header[key] for key in ("version", "eval", "plan")}
        _add_member(archive, "_journal/start.json", start)
        for sample in _samples(run, read_image):
            name = f"samples/{sample['id']}_epoch_{sample['epoch']}.json"
            _add_member(archive, name, sample)
            summaries.append(_summary(sample))
        _add_member(archive, "summaries.json", summaries)
        _add_member(archive, "header.json", header)
    return content.getvalue()


def _add_member(archive: zipfile.ZipFile, name: str, value: object) -> None:
    member = zipfile.ZipInfo(name, _ZIP_TIME)
    member.compress_type = zipfile.ZIP_DEFLATED
    archive.writestr(member, msgspec.json.encode(value))


def _header(run: RunFolder) -> Json:
    """The log without its samples."""
    info, records = run.info, ordered_records(run)
    passes = [one for record in records for one in asked_passes(record)]
    summary = run.report().summary if run.has_report else None
    return {
        "version": LOG_VERSION,
        "status": _STATUS.get(info.status, "started"),
        "eval": _spec(info, [record.id for record in records]),
        "plan": {"name": "plan", "steps": [{"solver": "generate", "params": {}}], "config": {}},
        "results": _results(info, summary, passes) if summary is not None else None,
        "stats": {"started_at": info.created, "completed_at": info.finished or "", "model_usage": _model_usage(info)},
    }


def _spec(info: RunInfo, ids: list[str]) -> Json:
    """The log's `eval`: task, data set, model and settings."""
    config = info.config
    sampling = config.sampling.get("model")
    generation: Json = {"max_tokens": config.longest_reply}
    if sampling is not None:
        generation |= {"temperature": sampling.temperature, "top_p": sampling.top_p, "seed": sampling.seed}
    key = hashlib.sha256(info.name.encode()).hexdigest()[:22]
    return {
        "eval_id": key,
        "run_id": key,
        "task_id": key,
        "created": info.created,
        "task": info.benchmark,
        "task_version": config.version,
        "task_display_name": info.title,
        "task_args": config.parameters,
        "dataset": {
            "name": info.benchmark,
            "location": info.data.path,
            "samples": len(ids),
            "sample_ids": list(dict.fromkeys(ids)),
            "shuffled": False,
        },
        "model": info.model,
        "model_generate_config": generation,
        "model_args": config.identity.facts,
        "config": {"limit": config.limit, "epochs": config.repeats},
        "packages": {"snellen": info.versions.get("snellen", "")},
        "metadata": {
            "run": info.name,
            "command": info.command,
            "data_digest": info.data.digest,
            "data_rows": info.data.rows,
            "status": info.status,
            "paper": info.paper,
        },
    }


def _results(info: RunInfo, summary: Summary, passes: Iterable[AskedPass]) -> Json:
    """The log's `results`: the run's metrics, and how many replies have a score."""
    replies = list(passes)
    metrics = {summary.headline.name: summary.headline, **summary.metrics}
    scored = sum(one.score is not None for one in replies)
    return {
        "total_samples": len(replies),
        "completed_samples": sum(one.reply is not None for one in replies),
        "scores": [
            {
                "name": SCORER,
                "scorer": SCORER,
                "scored_samples": scored,
                "unscored_samples": len(replies) - scored,
                "params": {"rule": info.config.parameters.get("rule", "snellen")},
                "metrics": {
                    name: _metric(name, metric) for name, metric in metrics.items() if metric.value is not None
                },
            }
        ],
    }


def _metric(name: str, metric: Metric) -> Json:
    factor = 0.01 if metric.unit == "percent" else 1.0
    metadata: Json = {"n": metric.n, "unit": "proportion" if factor < 1 else metric.unit}
    if metric.interval is not None:
        metadata |= {
            "interval_low": metric.interval.low * factor,
            "interval_high": metric.interval.high * factor,
            "interval_level": metric.interval.level,
            "interval_method": metric.interval.method,
        }
    return {"name": name, "value": (metric.value or 0.0) * factor, "metadata": metadata}


def _model_usage(info: RunInfo) -> Json:
    spent = info.spent.get("model")
    if spent is None:
        return {}
    return {info.model: _usage(spent.usage)}


def _usage(usage: Usage) -> Json:
    return {
        "input_tokens": usage.prompt_tokens,
        "output_tokens": usage.completion_tokens,
        "total_tokens": usage.prompt_tokens + usage.completion_tokens,
        "input_tokens_cache_read": usage.cached_tokens or None,
        "reasoning_tokens": usage.reasoning_tokens or None,
    }


def _samples(run: RunFolder, read_image: ReadImage) -> Iterator[Json]:
    for record in ordered_records(run):
        for one in asked_passes(record):
            yield _sample(run.info.model, one, read_image)


def _sample(model: str, one: AskedPass, read_image: ReadImage) -> Json:
    """A reply as a sample of the log, with its images as attachments."""
    record, attachments = one.record, dict[str, str]()
    images = [_image(digest, read_image, attachments) for digest in record.media]
    text = {"type": "text", "text": record.question}
    question = [{"role": "user", "content": [*images, text]}] if images else record.question
    prompt = [_message(message, read_image, attachments) for message in one.prompt]
    reply = _assistant(model, one)
    output: Json = {
        "model": model,
        "choices": [],
        "usage": _usage(one.usage) if one.usage is not None else None,
        "time": one.seconds,
    }
    sample: Json = {
        "id": one.id,
        "epoch": one.draw,
        "input": question,
        "choices": _choices(one.options),
        "target": one.gold[0] if len(one.gold) == 1 else list(one.gold),
        "messages": [*prompt, reply] if reply else prompt,
        "output": output,
        "scores": _scores(one),
        "metadata": _metadata(one),
        "attachments": attachments,
    }
    if reply is None:
        output["error"] = one.failure
        sample["error"] = {"message": one.failure, "traceback": "", "traceback_ansi": ""}
    else:
        stop_reason = _STOP_REASONS.get(one.stop_reason, "unknown")
        output["choices"] = [{"message": reply, "stop_reason": stop_reason}]
        output["completion"] = one.reply
    return sample


def _choices(options: Mapping[str, str]) -> list[str] | None:
    """The options as a list in the order of their letters; a missing letter has an empty text."""
    if not options:
        return None
    last = max(map(ord, options)) if all(len(label) == 1 for label in options) else 0
    letters = [chr(code) for code in range(ord("A"), last + 1)] or list(options)
    return [options.get(letter, "") for letter in letters]


def _assistant(model: str, one: AskedPass) -> Json | None:
    if one.reply is None:
        return None
    content: object = one.reply
    if one.reasoning:
        content = [{"type": "reasoning", "reasoning": one.reasoning}, {"type": "text", "text": one.reply}]
    return {"role": "assistant", "content": content, "source": "generate", "model": model}


def _message(message: Message, read_image: ReadImage, attachments: dict[str, str]) -> Json:
    content = [
        _image(part.digest, read_image, attachments) if isinstance(part, Media) else {"type": "text", "text": part.text}
        for part in message.parts
    ]
    return {"role": message.role, "content": content}


def _image(digest: str, read_image: ReadImage, attachments: dict[str, str]) -> Json:
    """A part of a message that refers to the image among the attachments, or names its digest if
    the run folder has no thumbnail of it."""
    if digest not in attachments:
        data = read_image(digest)
        if data is None:
            return {"type": "image", "image": f"sha256:{digest}"}
        attachments[digest] = f"data:image/jpeg;base64,{base64.b64encode(data).decode()}"
    return {"type": "image", "image": f"attachment://{digest}"}


def _scores(one: AskedPass) -> Json:
    scores: Json = {}
    if one.score is not None:
        scores[SCORER] = {
            "value": _value(one.score),
            "answer": one.answer,
            "explanation": one.reply,
            "metadata": {"outcome": one.record.outcome},
        }
    if one.rotation == 0 and len(one.record.passes) > 1 and one.record.score is not None:
        scores[CIRCULAR_SCORER] = {"value": _value(one.record.score), "answer": one.record.answer}
    return scores


def _value(score: float) -> str | float:
    """Inspect's signs for right and wrong; a partial score as a number."""
    return "C" if score == 1 else "I" if score == 0 else score


def _metadata(one: AskedPass) -> Json:
    record = one.record
    return {
        **record.metadata,
        **record.groups,
        "type": record.kind,
        "outcome": record.outcome,
        **({"rotation": one.rotation} if len(record.passes) > 1 else {}),
        **({"unit": record.unit} if record.unit else {}),
    }


def _summary(sample: Json) -> Json:
    """A sample as Inspect lists it: texts alone."""
    question = sample["input"]
    if not isinstance(question, str):
        question = question[0]["content"][-1]["text"]
    return {
        "id": sample["id"],
        "epoch": sample["epoch"],
        "input": question,
        "choices": sample["choices"],
        "target": sample["target"],
        "metadata": sample["metadata"],
        "scores": sample["scores"],
        "error": sample["error"]["message"] if "error" in sample else None,
        "completed": "error" not in sample,
    }
