"""Logs of Inspect (inspect_ai): `.eval` files, which are ZIP archives with a JSON file for each
sample, and JSON logs. A sample has `id`, `epoch`, `input`, `choices`, `target`, `output`,
`scores` and, where it ended with one, `error`."""

from __future__ import annotations

import zipfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from snellen.core.errors import DataError
from snellen.core.limits import DEFAULT, Limits
from snellen.data.bounded_read import read_whole
from snellen.data.columns import column_name
from snellen.data.json_values import decode_json
from snellen.data.tables.typed_rows import Record
from snellen.data.zip_members import check_members, read_member

_SAMPLES = "samples/"
_ATTACHMENT = "attachment://"
_STOPPED = {"max_tokens": "length", "model_length": "length", "content_filter": "refusal"}
_AS_JSON = "write it as JSON with: inspect log convert --to json --output-dir FOLDER"


def is_inspect_json(head: bytes) -> bool:
    """Whether a JSON document begins as Inspect's logs do."""
    start = head.lstrip()[:200]
    return start.startswith(b"{") and b'"version"' in start and (
        b'"status"' in start and b'"eval"' in head
    )  # fmt: skip


def inspect_records(path: Path, name: str, limits: Limits = DEFAULT) -> Iterator[Record]:
    """A record for each sample and epoch. Raises DataError."""
    read = _packed if zipfile.is_zipfile(path) else _document
    samples = read(path, name, limits)
    empty = True
    for sample in samples:
        empty = False
        yield _record(sample, name)
    if empty:
        raise DataError(f"{name} holds no samples: it may be a log of the header alone")


def _packed(path: Path, name: str, limits: Limits) -> Iterator[Record]:
    try:
        with zipfile.ZipFile(path) as archive:
            check_members(archive, limits, name)
            for member in sorted(archive.namelist()):
                if member.startswith(_SAMPLES) and member.endswith(".json"):
                    yield _decoded(read_member(archive, member), f"{name}, {member}", limits)
    except NotImplementedError:
        raise DataError(
            f"{name} is packed by a method that Python's zipfile cannot read; {_AS_JSON}"
        ) from None
    except MemoryError:
        raise DataError(f"{name} holds more than fits into memory") from None
    except (zipfile.BadZipFile, ValueError, KeyError) as error:
        raise DataError(f"{name} is a damaged archive: {error}") from None


def _document(path: Path, name: str, limits: Limits) -> Iterable[Record]:
    value = _decoded(read_whole(path, limits, name), name, limits)
    samples = value.get("samples")
    return [one for one in samples if isinstance(one, dict)] if isinstance(samples, list) else []


def _decoded(data: bytes, where: str, limits: Limits) -> Record:
    try:
        value = decode_json(data, where, limits)
    except DataError as error:
        raise DataError(f"{error}; expected a log of Inspect") from None
    if not isinstance(value, dict):
        raise DataError(f"{where}: not a log of Inspect: expected a JSON object")
    return value


def _record(sample: Record, name: str) -> Record:
    if "id" not in sample:
        raise DataError(f"{name}: a sample has no id: not a log of Inspect")
    attached = _object(sample.get("attachments"))
    target = sample.get("target")
    if isinstance(target, list) and len(target) == 1:
        target = target[0]
    record: Record = {
        **_metadata(_object(sample.get("metadata"))),
        "id": str(sample["id"]),
        "epoch": sample.get("epoch", 1),
        "question": _question(sample.get("input"), attached),
        "choices": sample.get("choices") or None,
        "answer": target if target not in ("", []) else None,
    }
    return record | _outcome(sample, attached)


def _outcome(sample: Record, attached: Mapping[str, Any]) -> Record:
    output = _object(sample.get("output"))
    error = sample.get("error") or output.get("error")
    if error:
        return {"error": str(error.get("message") if isinstance(error, dict) else error)}
    choice = next(iter(_list(output.get("choices"))), None)
    if not isinstance(choice, dict):
        text = output.get("completion")
        limit = _object(sample.get("limit")).get("type")
        if not text:
            why = f"the {limit} limit ended the sample" if limit else "no output was recorded"
            return {"error": why}
        return {"prediction": _attached(str(text), attached)}
    content = _object(choice.get("message")).get("content")
    found: Record = {"prediction": _text(content, attached)}
    stopped = _STOPPED.get(str(choice.get("stop_reason")))
    return found | ({"stop_reason": stopped} if stopped else {})


def _metadata(metadata: Mapping[str, Any]) -> Record:
    return {
        column_name(str(key), 0): value
        for key, value in metadata.items()
        if isinstance(value, str | int | float)
    }


def _question(value: Any, attached: Mapping[str, Any]) -> str:
    """The input as text: of a conversation, what the user said last."""
    if isinstance(value, str):
        return _attached(value, attached)
    said = [
        message
        for message in _list(value)
        if isinstance(message, dict) and message.get("role") == "user"
    ]
    return _text(said[-1].get("content"), attached) if said else ""


def _text(content: Any, attached: Mapping[str, Any]) -> str:
    """The text of a message; reasoning and pictures are left out."""
    if isinstance(content, str):
        return _attached(content, attached)
    parts = [
        str(part.get("text") or "")
        for part in _list(content)
        if isinstance(part, dict) and part.get("type") == "text"
    ]
    return "\n".join(_attached(part, attached) for part in parts)


def _attached(text: str, attached: Mapping[str, Any]) -> str:
    """Long texts are kept once and named where they stood."""
    if text.startswith(_ATTACHMENT):
        return str(attached.get(text.removeprefix(_ATTACHMENT), text))
    return text


def _object(value: Any) -> Mapping[str, Any]:
    """A JSON object; an empty one in place of anything else."""
    return value if isinstance(value, dict) else {}


def _list(value: Any) -> Sequence[Any]:
    return value if isinstance(value, list) else ()
