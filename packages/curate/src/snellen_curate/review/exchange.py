"""The queue with its decisions as Label Studio, Argilla and spreadsheets have them, both ways: what
`export_review` writes, and the decisions of another tool that `import_reviews` adds.

Every format is written from, and read as, records with the fields of `ReviewEntry`. What a file has
beyond those stays under its own name, so that it is named and not lost.
"""

from __future__ import annotations

import base64
import csv
import io
import uuid
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from string import ascii_uppercase
from typing import Any, Literal, NamedTuple
from xml.sax.saxutils import quoteattr

import msgspec

from snellen.api.run_images import content_type
from snellen.core.atomic_write import save
from snellen.core.errors import UsageError
from snellen_curate.review.board import ReviewBoard
from snellen_curate.review.edits import answer_choices, item_fields
from snellen_curate.review.entries import DROP_REASONS, ReviewEntry, read_lines

ExchangeFormat = Literal["label-studio", "argilla", "csv"]
CHANGE = "fix_"
"""Begins the name of a column or question that holds the new text of a field."""
REMOVED = "(removed)"
"""The new text of an option or hint that is taken out: an empty cell changes nothing."""
CONTEXT = ("question", "options")
"""Columns that describe the item."""
PERSON = ("by", "role", "seconds", "at")
"""Columns about the person and the time, which no question asks."""

Record = dict[str, Any]
Questions = Mapping[str, Sequence[str]]
"""What is asked of each item, to its choices; none for a text."""


class _ReviewedItem(NamedTuple):
    """An item of the queue with the decisions about it."""

    context: dict[str, Any]
    images: list[str]
    decisions: list[Record]


def export_review(board: ReviewBoard, folder: Path, form: ExchangeFormat) -> list[Path]:
    """Write the queue and all decisions; returns the files. Raises StorageError."""
    rows = _rows(board, with_images=form != "csv")
    files = _WRITERS[form](rows, _questions(board), board.settings.annotators)
    for name, content in files.items():
        save(folder / name, content)
    return [folder / name for name in files]


def read_records(lines: Sequence[str], is_csv: bool) -> Iterator[tuple[str, Record]]:
    """The decisions of JSON lines, of a CSV file, or of an export of Label Studio or Argilla, each
    with its place, such as "line 3". Raises UsageError."""
    text = "\n".join(lines)
    try:
        if is_csv:
            yield from _read_csv(text)
        elif text.lstrip().startswith("["):
            for at, row in enumerate(msgspec.json.decode(text, type=list[Record]), 1):
                yield from _read_object(row, at)
        else:
            for at, line in enumerate(lines, 1):
                if line.strip():
                    yield f"line {at}", _read_line(line, at)
    except (csv.Error, msgspec.DecodeError, AttributeError, LookupError, TypeError) as error:
        raise UsageError(
            f"it is no CSV file, nor an export of Label Studio or Argilla as JSON ({type(error).__name__}: {error})"
        ) from error


def _read_line(line: str, at: int) -> Record:
    try:
        return msgspec.json.decode(line, type=Record)
    except msgspec.DecodeError as error:
        raise UsageError(
            f"line {at}: it is no JSON object ({error}); expected one such as "
            '{"item": "7", "by": "ann", "action": "keep"}'
        ) from None


def _rows(board: ReviewBoard, with_images: bool) -> list[_ReviewedItem]:
    rows = []
    for name, _, reviews in board.rows():
        item = board.queue.items[name].item
        sample, choices = item.sample, answer_choices(item).items()
        context = {
            "item": name,
            "question": "\n".join(filter(None, (sample.hint, sample.question))),
            "options": "\n".join(f"{label}. {text}".rstrip(". ") for label, text in choices),
        }
        data = [ref.source.read() for ref in sample.media if ref.kind == "image" and with_images]
        # Addresses that every tool displays without a server for files.
        images = [f"data:{content_type(each)};base64,{base64.b64encode(each).decode()}" for each in data]
        decisions = []
        for entry in reviews.last_decisions():
            cells = {key: value for key, value in msgspec.to_builtins(entry).items() if value}
            changes = cells.pop("changes", {})
            decisions.append(cells | {CHANGE + key: text or REMOVED for key, text in changes.items()})
        rows.append(_ReviewedItem(context, images, decisions))
    return rows


def _questions(board: ReviewBoard) -> Questions:
    reasons = {"reason": list(DROP_REASONS), "comment": []}
    if board.settings.blind:
        abilities = list(board.queue.abilities.parents)
        return {"action": ["answer", "drop"], **reasons, "answer": [], "ability": abilities}
    fields = {name: None for each in board.queue.items.values() for name in item_fields(each.item)}
    return {"action": ["keep", "fix", "drop"], **reasons, **{CHANGE + name: [] for name in fields}}


def _write_csv(rows: Sequence[_ReviewedItem], questions: Questions, _: int) -> dict[str, bytes]:
    own = [name for row in rows for cells in row.decisions for name in cells]
    text = io.StringIO()
    head = dict.fromkeys(("item", *PERSON, *questions, *own, *CONTEXT))
    writer = csv.DictWriter(text, head, lineterminator="\n")
    writer.writeheader()
    writer.writerows(row.context | cells for row in rows for cells in row.decisions or [{}])
    return {"decisions.csv": text.getvalue().encode()}


def _read_csv(text: str) -> Iterator[tuple[str, Record]]:
    rows = csv.DictReader(io.StringIO(text))
    names = rows.fieldnames or ()
    if "item" not in names:
        raise UsageError(f"it has no column item; its columns, split at commas: {', '.join(names)}")
    for row in rows:
        if None in row:
            raise UsageError(f"line {rows.line_num}: more cells than columns")
        if row.get("action"):
            yield f"line {rows.line_num}", {key: cell for key, cell in row.items() if cell and key}


def _write_label_studio(rows: Sequence[_ReviewedItem], questions: Questions, _: int) -> dict[str, bytes]:
    tasks: list[Record] = [
        {
            "data": {**row.context, "images": row.images},
            "annotations": [{"result": _results(cells), "lead_time": cells.get("seconds")} for cells in row.decisions],
        }
        for row in rows
    ]
    view = ['<Image name="images" valueList="$images"/>']
    view += [f'<Text name="{name}" value="${name}"/>' for name in CONTEXT]
    for name, choices in (("by", ()), *questions.items()):
        kind, more = ("Choices", "required") if choices else ("TextArea", "placeholder")
        value = str(name == "action").lower() if choices else name
        options = "".join(f"<Choice value={quoteattr(each)}/>" for each in choices)
        head = f'{kind} name={quoteattr(name)} toName="question" {more}={quoteattr(value)}'
        view.append(f"<{head}>{options}</{kind}>")
    return {
        "label-studio.json": msgspec.json.encode(tasks),
        "label-studio.xml": "\n".join(("<View>", *view, "</View>")).encode(),
    }


def _results(cells: Record) -> list[Record]:
    """A decision as results of the controls; the first has as well what no control has."""
    results: list[Record] = []
    for name in [name for name in cells if name not in ("item", "role", "seconds", "at")]:
        is_choice = name in ("action", "reason", "ability")
        kind, key = ("choices", "choices") if is_choice else ("textarea", "text")
        value = {key: [cells[name]]}
        results.append({"from_name": name, "to_name": "question", "type": kind, "value": value})
    results[0]["meta"] = {name: cells[name] for name in ("role", "at") if name in cells}
    return results


def _read_object(row: Record, at: int) -> Iterator[tuple[str, Record]]:
    """The decisions of an object of a JSON list: of an item, or one by itself."""
    if "responses" in row:
        yield from ((f"record {row['id']}", each) for each in _read_argilla(row))
    elif "annotations" in row:
        place = f"task {row.get('id', at)}"
        yield from ((place, each) for each in _read_label_studio(row))
    else:
        yield f"object {at}", row


def _read_label_studio(task: Record) -> Iterator[Record]:
    for each in task["annotations"]:
        if each.get("was_cancelled"):
            continue
        person = each.get("completed_by", "")
        person = person.get("email") if isinstance(person, dict) else person
        record = {"item": str(task["data"]["item"]), "by": str(person or "")}
        for result in each.get("result", ()):
            value = result.get("value", {})
            texts = value.get("choices") or value.get("text") or ()
            name = result.get("from_name", result["type"])
            record[name] = texts if isinstance(texts, str) else ", ".join(texts)
            record |= result.get("meta", {})
        yield {**record, "seconds": each.get("lead_time")}


def _write_argilla(rows: Sequence[_ReviewedItem], questions: Questions, people: int) -> dict[str, bytes]:
    records = []
    for row in rows:
        fields = {key: row.context[key] for key in CONTEXT if row.context[key]}
        fields |= {f"image_{at}": each for at, each in enumerate(row.images, 1)}
        responses: dict[str, list[Record]] = defaultdict(list)
        persons: dict[str, Record] = {}
        for cells in row.decisions:
            # Argilla knows people by a UUID alone.
            name = f"snellen curate review {cells.get('role', '')} {cells['by']}"
            person = str(uuid.uuid5(uuid.NAMESPACE_URL, name))
            persons[person] = {key: cells[key] for key in PERSON if key in cells}
            for key in [key for key in cells if key not in ("item", *PERSON)]:
                responses[key.casefold()].append({"value": cells[key], "user_id": person})
        records.append(
            {
                "id": row.context["item"],
                "fields": fields,
                "responses": responses,
                "metadata": {"people": msgspec.json.encode(persons).decode()},
                "suggestions": {},
                "vectors": {},
            }
        )
    names = dict.fromkeys(name for record in records for name in record["fields"])
    settings = {
        "guidelines": "Decide about each item.",
        "fields": [_argilla_setting(name, (), name == "question") for name in names],
        "questions": [_argilla_setting(*each, each[0] == "action") for each in questions.items()],
        "metadata": [],
        "vectors": [],
        "allow_extra_metadata": True,
        "distribution": {"strategy": "overlap", "min_submitted": people},
    }
    return {
        "argilla-records.json": msgspec.json.encode(records),
        "argilla-settings.json": msgspec.json.encode(settings),
    }


def _argilla_setting(name: str, choices: Sequence[str], required: bool) -> Record:
    settings: Record = {"type": "text", "use_markdown": False}
    if choices:
        options = [{"value": each, "text": each} for each in choices]
        settings = {"type": "label_selection", "options": options}
    elif name.startswith("image_"):
        settings = {"type": "image"}
    # Names have small letters only.
    return {"name": name.casefold(), "title": name, "required": required, "settings": settings}


def _read_argilla(record: Record) -> Iterator[Record]:
    known = msgspec.json.decode(record.get("metadata", {}).get("people", "{}"))
    people: dict[str, Record] = {}
    for name, responses in record["responses"].items():
        for response in responses:
            by = response["user_id"]
            people.setdefault(by, {"item": record["id"], "by": by, **known.get(by, {})})
            people[by][name] = response["value"]
    return iter(people.values())


_WRITERS: dict[ExchangeFormat, Callable[[Sequence[_ReviewedItem], Questions, int], dict[str, bytes]]] = {
    "label-studio": _write_label_studio,
    "argilla": _write_argilla,
    "csv": _write_csv,
}


QUEUE_FIELDS = ("kind", "question", "hint", "options", "media", "cells", "groups", "problem", "flags", "replies")
"""Fields of `queue.jsonl` that describe the item."""
_FIELDS = ReviewEntry.__struct_fields__


class ImportedReviews(NamedTuple):
    """What an import added."""

    added: int
    known: int
    """Lines that were in the log already, such as those of an earlier import."""
    annotators: tuple[str, ...]
    unused: tuple[str, ...] = ()
    """Fields and columns of the file that are no part of a decision."""


def import_reviews(board: ReviewBoard, path: Path, by: str = "") -> ImportedReviews:
    """Add the decisions of a file to a review: all of them, or none if one is wrong.

    The file is JSON lines, each an object with "item", "by", "action" and whatever goes with it
    (see `ReviewEntry`), also lines of `queue.jsonl` that were filled in; or what `export_review`
    writes, or an export of the same project: see `read_records`. A decision without "by" is by the
    annotator `by`. Raises UsageError with the first wrong decision, and StorageError.
    """
    lines, is_csv = read_lines(path), path.suffix.casefold() == ".csv"
    entries: list[ReviewEntry] = []
    unused: dict[str, None] = {}
    place = ""
    try:
        for at, record in read_records(lines, is_csv):
            place = f", {at}"
            others = (name for name in record if name not in (*_FIELDS, *QUEUE_FIELDS))
            unused |= dict.fromkeys(name for name in others if not name.startswith(CHANGE))
            entries.append(board.check(_read_entry(record, by, board)))
            place = ""
    except UsageError as error:
        raise UsageError(f"{path}{place}: {error}; nothing was imported") from None
    if not entries:
        raise UsageError(f"{path} has no decision; expected objects or rows with an action")
    last = {entry.source: entry for entry in entries}
    new = [entry for entry in entries if not board.reviews(entry.item).has(last[entry.source])]
    if new:
        board.log.append(new)
    names = tuple(dict.fromkeys(entry.by for entry in entries))
    return ImportedReviews(len(new), len(entries) - len(new), names, tuple(unused))


def _read_entry(record: Mapping[str, Any], by: str, board: ReviewBoard) -> ReviewEntry:
    if not record.get("action"):
        raise UsageError('it has no "action"; expected keep, fix, drop, answer or comment')
    values = {key: value for key, value in record.items() if key in _FIELDS and value is not None}
    if isinstance(values.get("item"), int):
        values["item"] = str(values["item"])
    if values["action"] != "answer":
        # In a line of `queue.jsonl` it is the answer of the data.
        values.pop("answer", None)
    changes = {
        key.removeprefix(CHANGE): "" if text == REMOVED else text
        for key, text in record.items()
        if key.startswith(CHANGE) and text
    }
    queued = board.queue.items.get(str(values.get("item")))
    if changes and queued is not None:
        # Names of questions in Argilla have small letters only.
        fields = {name.casefold(): name for name in (*ascii_uppercase, *item_fields(queued.item))}
        values["changes"] = {fields.get(key.casefold(), key): text for key, text in changes.items()}
    values["by"] = values.get("by") or by
    if not values["by"]:
        raise UsageError('it has no "by"; name the annotator with --annotator')
    try:
        return msgspec.convert(values, ReviewEntry, strict=False)
    except msgspec.ValidationError as error:
        raise UsageError(f"it is no decision ({error})") from None
