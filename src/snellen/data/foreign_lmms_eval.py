"""Sample logs of lmms-eval (`--log_samples`): `*_samples_<task>.jsonl`, one question a line.

`doc_id` is the row's place in the data set, `target` the gold, `resps` the raw replies and
`filtered_resps` what the task's filters made of them (left out of the file where they are the
same). Older versions also wrote `doc`, the data row without its pictures, and `arguments`; newer
ones `input`, the prompt. Many tasks put what they aggregate beside these: an object with the
row's own id, question and category.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from snellen.core.errors import DataError
from snellen.data.columns import ID_COLUMNS, column_name, is_image_column, option_letters
from snellen.data.typed import Record

_DOC = re.compile(rb'"doc"\s*:\s*\{')
"""A data row may be longer than what is looked at, so that the replies stand behind it."""
_OWN = frozenset({"doc", "token_counts"})
_NONE = frozenset({"", "nan", "none"})
_DROPPED = frozenset({"prediction", "pred", "answer", "score"})


def is_lmms_eval(head: bytes) -> bool:
    """Whether the first line of a file, as far as `head` goes, is a sample of lmms-eval."""
    first = head.lstrip().split(b"\n", 1)[0]
    return b'"doc_id"' in head and (
        b'"filtered_resps"' in first or b'"resps"' in first or _DOC.search(first) is not None
    )


def lmms_eval_records(path: Path, name: str) -> Iterator[Record]:
    """A record for each sample: its own id where the log has it, else its place in the data set.

    An id that several rows share (the two questions about an MME image) gets `#2` from the second
    on. Raises DataError for a line that is no sample.
    """
    seen: dict[str, list[str]] = {}
    with path.open("rb") as file:
        for number, line in enumerate(file, 1):
            if not line.strip():
                continue
            sample = _sample(line, f"{name}, line {number}")
            record = _record(sample)
            places = seen.setdefault(record["index"], [])
            place = str(sample["doc_id"])
            if place not in places:
                places.append(place)
            if places.index(place):
                record["index"] += f"#{places.index(place) + 1}"
            yield record


def _sample(line: bytes, where: str) -> Record:
    try:
        value = msgspec.json.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise DataError(f"{where}: not valid JSON: {error}") from None
    if not isinstance(value, dict) or "doc_id" not in value:
        raise DataError(f"{where}: no sample of lmms-eval: it has no `doc_id`")
    if "resps" not in value and "filtered_resps" not in value:
        raise DataError(f"{where}: the sample holds no replies (`resps` or `filtered_resps`)")
    return value


def _record(sample: Record) -> Record:
    cells = {**_aggregated(sample), **_texts(sample.get("doc") or {})}
    own = next((str(cells[name]) for name in ID_COLUMNS if name in cells), None)
    record: Record = {
        "question": _prompt(sample),
        **{key: value for key, value in cells.items() if key not in ("index", "id", *_DROPPED)},
        "index": own if own is not None else str(sample["doc_id"]),
        "doc_id": sample["doc_id"],
    }
    gold = sample.get("target", cells.get("answer"))
    if gold is not None and str(gold).strip().lower() not in _NONE:
        record["answer"] = gold
    raw, filtered = (_reply(sample.get(name)) for name in ("resps", "filtered_resps"))
    reply = raw if raw is not None else filtered
    if reply is None:
        record["error"] = "no reply was recorded"
    else:
        record["prediction"] = reply
    if filtered is not None and filtered != reply:
        record["filtered"] = filtered
    return record


def _aggregated(sample: Record) -> Record:
    """What the task aggregates, where that tells which row of the data was asked."""
    for key, value in sample.items():
        if key not in _OWN and isinstance(value, dict):
            cells = _texts(value)
            if any(name in cells for name in ID_COLUMNS):
                return cells
    return {}


def _texts(fields: Mapping[str, Any]) -> Record:
    """Fields by the names of their columns, without pictures and without cells that say nan."""
    named = ((column_name(str(key), 0), value) for key, value in fields.items())
    return {
        column: value
        for column, value in named
        if value is not None
        and not is_image_column(column)
        and not (isinstance(value, str) and value.lower() in ("", "nan"))
    }


def _prompt(sample: Record) -> str:
    """The prompt as it was sent: the first text among the arguments."""
    for name in ("input", "input_text", "arguments"):
        value = sample.get(name)
        while isinstance(value, list) and value:
            value = value[0]
        if isinstance(value, str):
            return value
    return ""


def _reply(value: Any) -> str | None:
    """The reply in lists of any depth; of likelihoods, the letter of the likeliest candidate."""
    if not isinstance(value, list):
        return value if isinstance(value, str) else None
    items = [_innermost(item) for item in value]
    scores = [_likelihood(item) for item in items]
    letters = option_letters(len(items))
    known = [score for score in scores if score is not None]
    if len(items) > 1 and len(known) == len(items) and letters:
        return letters[known.index(max(known))]
    first = items[0] if items else None
    return first if isinstance(first, str) else None


def _innermost(value: Any) -> Any:
    while isinstance(value, list) and len(value) == 1:
        value = value[0]
    return value


def _likelihood(value: Any) -> float | None:
    """The log-likelihood in [log-likelihood, is greedy], whose values may be written as text."""
    if not isinstance(value, list) or len(value) != 2 or str(value[1]) not in ("True", "False"):
        return None
    try:
        return float(value[0])
    except (TypeError, ValueError):
        return None
