"""Lines of Every Eval Ever, `<uuid>_samples.jsonl`: one question and its replies a line.

`input` holds the question (`raw`), its options (`choices`) and the gold answers (`reference`),
`output.raw` the replies, the first of which is scored. Lines of conversations, whose replies lie
in `messages`, are refused.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from snellen.core.errors import DataError
from snellen.core.limits import Limits
from snellen.data.columns import column_name, option_letters
from snellen.data.documents import decode_json, read_lines
from snellen.data.foreign.layout import ResultsLayout
from snellen.data.tables.typed_rows import Record

_OWN_METADATA = frozenset({"outcome", "replies", "option_labels", "media_sha256", "kind"})
"""Metadata keys that Snellen writes and that are not columns of the data."""


def _is_every_eval_ever(head: bytes) -> bool:
    """Whether the first line of a file, as far as `head` reaches, is of that schema."""
    first = head.lstrip().split(b"\n", 1)[0]
    return b'"schema_version"' in first and b'"evaluation_id"' in first and (b'"sample_id"' in first)


def _records(path: Path, name: str, limits: Limits) -> Iterator[Record]:
    """A record for each question; one that several numbers count has several lines, of which the
    first is read. Raises DataError."""
    seen: set[str] = set()
    with path.open("rb") as file:
        for number, line in enumerate(read_lines(file, limits, name), 1):
            if not line.strip():
                continue
            where = f"{name}, line {number}"
            value = decode_json(line, where, limits)
            if not isinstance(value, dict) or not isinstance(value.get("input"), dict):
                raise DataError(f"{where}: no line of Every Eval Ever: it has no `input`")
            sample = str(value.get("sample_id"))
            if sample not in seen:
                seen.add(sample)
                yield _record(value, sample, where)


def _record(line: Record, sample: str, where: str) -> Record:
    question, metadata = line["input"], line.get("metadata")
    metadata = metadata if isinstance(metadata, dict) else {}
    reference = _texts(question.get("reference"))
    record: Record = {
        **{
            column_name(str(key), 0): value
            for key, value in metadata.items()
            if key not in _OWN_METADATA and isinstance(value, str | int | float)
        },
        "index": sample,
        "question": str(question.get("raw") or ""),
        **_options(question.get("choices"), metadata.get("option_labels")),
    }
    if "kind" in metadata:
        record["type"] = metadata["kind"]
    if reference:
        record["answer"] = reference[0] if len(reference) == 1 else reference
    return record | _reply(line, where)


def _options(choices: Any, labels: Any) -> Record:
    texts = _texts(choices)
    letters = labels if isinstance(labels, str) else option_letters(len(texts))
    return dict(zip(letters or "", texts, strict=False))


def _reply(line: Record, where: str) -> Record:
    output = line.get("output")
    if not isinstance(output, dict):
        raise DataError(
            f"{where}: a conversation ({line.get('interaction_type')}), whose last reply is not "
            "known to be the answer; lines with `output.raw` can be scored"
        )
    replies = _texts(output.get("raw"))
    if line.get("error") and not any(replies):
        return {"error": str(line["error"])}
    return {"prediction": replies[0]} if replies else {"error": "no reply was recorded"}


def _texts(value: Any) -> list[str]:
    return [str(item) for item in value] if isinstance(value, list) else []


LAYOUT = ResultsLayout(
    "every-eval-ever",
    "samples of Every Eval Ever",
    "`schema_version`, `evaluation_id` and `sample_id` in the first line",
    _is_every_eval_ever,
    _records,
)
