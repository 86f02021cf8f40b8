"""Logs of Inspect (inspect_ai): `.eval` files, which are ZIP archives with a JSON file for each
sample, and JSON logs. A sample has `id`, `epoch`, `input`, `choices`, `target`, `output`,
`scores` and, where it ended with one, `error`."""

from __future__ import annotations

import zipfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from snellen.core.errors import DataError
from snellen.core.limits import Limits
from snellen.data.columns import column_name
from snellen.data.documents import decode_json, read_bounded
from snellen.data.foreign.layout import ResultsLayout
from snellen.data.tables.typed_rows import Record
from snellen.data.zip_members import check_members, read_member

_SAMPLES = "samples/"
_ATTACHMENT = "attachment://"
_STOP_REASONS = {"max_tokens": "length", "model_length": "length", "content_filter": "refusal"}
_JSON_ADVICE = "write it as JSON with: inspect log convert --to json --output-dir FOLDER"


def _is_inspect_json(head: bytes) -> bool:
    """Whether a JSON document begins like Inspect's logs."""
    start = head.lstrip()[:200]
    return start.startswith(b"{") and b'"version"' in start and (b'"status"' in start and b'"eval"' in head)


def _records(path: Path, name: str, limits: Limits) -> Iterator[Record]:
    """A record for each sample and epoch. Raises DataError."""
    read_samples = _archive_samples if zipfile.is_zipfile(path) else _document_samples
    samples = read_samples(path, name, limits)
    empty = True
    for sample in samples:
        empty = False
        yield _sample_record(sample, name)
    if empty:
        raise DataError(f"{name} holds no samples: it may be a log of the header alone")


def _archive_samples(path: Path, name: str, limits: Limits) -> Iterator[Record]:
    try:
        with zipfile.ZipFile(path) as archive:
            check_members(archive, limits, name)
            for member in sorted(archive.namelist()):
                if member.startswith(_SAMPLES) and member.endswith(".json"):
                    yield _decode_log(read_member(archive, member), f"{name}, {member}", limits)
    except NotImplementedError:
        raise DataError(f"{name} is packed by a method that Python's zipfile cannot read; {_JSON_ADVICE}") from None
    except MemoryError:
        raise DataError(f"{name} holds more than fits into memory") from None
    except (zipfile.BadZipFile, ValueError, KeyError) as error:
        raise DataError(f"{name} is a damaged archive: {error}") from None


def _document_samples(path: Path, name: str, limits: Limits) -> Iterable[Record]:
    value = _decode_log(read_bounded(path, limits, name), name, limits)
    samples = value.get("samples")
    return [sample for sample in samples if isinstance(sample, dict)] if isinstance(samples, list) else []


def _decode_log(data: bytes, where: str, limits: Limits) -> Record:
    try:
        value = decode_json(data, where, limits)
    except DataError as error:
        raise DataError(f"{error}; expected a log of Inspect") from None
    if not isinstance(value, dict):
        raise DataError(f"{where}: not a log of Inspect: expected a JSON object")
    return value


def _sample_record(sample: Record, name: str) -> Record:
    if "id" not in sample:
        raise DataError(f"{name}: a sample has no id: not a log of Inspect")
    attachments = _as_object(sample.get("attachments"))
    target = sample.get("target")
    if isinstance(target, list) and len(target) == 1:
        target = target[0]
    record: Record = {
        **_metadata_cells(_as_object(sample.get("metadata"))),
        "id": str(sample["id"]),
        "epoch": sample.get("epoch", 1),
        "question": _question_text(sample.get("input"), attachments),
        "choices": sample.get("choices") or None,
        "answer": target if target not in ("", []) else None,
    }
    for scorer, score in _as_object(sample.get("scores")).items():
        fields = _as_object(score)
        record |= {f"inspect.{scorer}": fields.get("value")}
        record |= {f"inspect.{scorer}.answer": fields.get("answer")}
    return record | _reply_cells(sample, attachments)


def _reply_cells(sample: Record, attachments: Mapping[str, Any]) -> Record:
    output = _as_object(sample.get("output"))
    error = sample.get("error") or output.get("error")
    if error:
        return {"error": str(error.get("message") if isinstance(error, dict) else error)}
    choice = next(iter(_as_list(output.get("choices"))), None)
    if not isinstance(choice, dict):
        text = output.get("completion")
        limit = _as_object(sample.get("limit")).get("type")
        if not text:
            why = f"the {limit} limit ended the sample" if limit else "no output was recorded"
            return {"error": why}
        return {"prediction": _resolve_attachment(str(text), attachments)}
    content = _as_object(choice.get("message")).get("content")
    cells: Record = {"prediction": _message_text(content, attachments)}
    stop_reason = _STOP_REASONS.get(str(choice.get("stop_reason")))
    return cells | ({"stop_reason": stop_reason} if stop_reason else {})


def _metadata_cells(metadata: Mapping[str, Any]) -> Record:
    return {column_name(str(key), 0): value for key, value in metadata.items() if isinstance(value, str | int | float)}


def _question_text(value: Any, attachments: Mapping[str, Any]) -> str:
    """The input as text; of a conversation, the user's last message."""
    if isinstance(value, str):
        return _resolve_attachment(value, attachments)
    user_messages = [
        message for message in _as_list(value) if isinstance(message, dict) and message.get("role") == "user"
    ]
    return _message_text(user_messages[-1].get("content"), attachments) if user_messages else ""


def _message_text(content: Any, attachments: Mapping[str, Any]) -> str:
    """The text of a message, without reasoning and images."""
    if isinstance(content, str):
        return _resolve_attachment(content, attachments)
    parts = [
        str(part.get("text") or "")
        for part in _as_list(content)
        if isinstance(part, dict) and part.get("type") == "text"
    ]
    return "\n".join(_resolve_attachment(part, attachments) for part in parts)


def _resolve_attachment(text: str, attachments: Mapping[str, Any]) -> str:
    """Replace a reference to an attachment by its text: Inspect stores long texts once."""
    if text.startswith(_ATTACHMENT):
        return str(attachments.get(text.removeprefix(_ATTACHMENT), text))
    return text


def _as_object(value: Any) -> Mapping[str, Any]:
    """The value if it is a JSON object, else an empty one."""
    return value if isinstance(value, dict) else {}


def _as_list(value: Any) -> Sequence[Any]:
    return value if isinstance(value, list) else ()


LAYOUT = ResultsLayout(
    "inspect", "a log of Inspect", "`version`, `status` and `eval` at its beginning", _is_inspect_json, _records
)
