"""Sample logs of lmms-eval (`--log_samples`): `*_samples_<task>.jsonl`, one question a line.

`doc_id` is the index of the data row, `target` the result of the task's `doc_to_target`, `resps`
the raw replies and `filtered_resps` the replies after the task's filters (`resps` is left out if
both are equal). Older versions also write `doc`, the data row without images, and `arguments`;
newer ones `input`, the prompt. Many tasks add an object that they aggregate, with the row's own id,
question and category, and an object for an evaluation server, whose `answer` is the reply.

`target` is the gold answer, except where a task file names a column that its data do not have: then
it is the column's name, "answer", in every row (TextVQA, OK-VQA, VizWiz, VQAv2).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from snellen.core.errors import DataError
from snellen.core.limits import DEFAULT_LIMITS, MB, Limits, check_size
from snellen.data.columns import DATA_ROW, GOLD_COLUMNS, ID_COLUMNS, column_name, id_of, is_image_column, option_letters
from snellen.data.documents import decode_json, read_lines
from snellen.data.foreign.layout import ResultsLayout
from snellen.data.tables.typed_rows import Record

_DOC = re.compile(rb'"doc"\s*:\s*\{')
"""A data row may be longer than the part of the file that is searched, with the replies behind
it."""
_SAMPLES = "_samples_"
"""Between the date and the task in the name of a log."""
_HEAD_SIZE = 1 << 16
_NOT_AGGREGATED = frozenset({"doc", "token_counts"})
_EMPTY_TARGETS = frozenset({"", "nan", "none"})
_EXCLUDED_COLUMNS = frozenset({"prediction", "pred", "score", *GOLD_COLUMNS})
_GOLD_COLUMN_NAMES = frozenset({*GOLD_COLUMNS, "correct_choice", "annotations_captions", "gt_answer_details"})
"""Column names that task files give for the gold answer."""
_ROW_GOLD_COLUMNS = ("answers", "answer", "gt_answer", "label", "correct_choice", "correct answer")
"""Columns of a data row that hold its gold answer, if `target` does not."""
_SUBMISSION = "submission"
_RECORDED = ("score", "parsed_pred", "pred_answer", "pred", "prediction")
"""What the object of a metric says of one reply: the verdict, or the answer that was read."""


def _is_sample_log(head: bytes) -> bool:
    """Whether the first line of a file, as far as `head` reaches, is a sample of lmms-eval."""
    first = head.lstrip().split(b"\n", 1)[0]
    return b'"doc_id"' in head and (
        b'"filtered_resps"' in first or b'"resps"' in first or _DOC.search(first) is not None
    )


def sample_logs(folder: Path) -> dict[Path, str | None]:
    """The sample logs in a folder of lmms-eval (`--output_path`) and its folders of models, each
    with the model that the results file beside it names, if there is one."""
    files = sorted(folder.rglob(f"*{_SAMPLES}*.jsonl"))
    return {file: _model_of(file) for file in files if _is_sample_log(_first_bytes(file))}


def _model_of(log: Path) -> str | None:
    results = log.with_name(f"{log.name.partition(_SAMPLES)[0]}_results.json")
    if not results.is_file():
        return None
    check_size(results.stat().st_size, DEFAULT_LIMITS.document_mb * MB, "document_mb", str(results))
    value = decode_json(results.read_bytes(), str(results), DEFAULT_LIMITS)
    model = value.get("model_name") if isinstance(value, dict) else None
    return model if isinstance(model, str) and model else None


def _first_bytes(file: Path) -> bytes:
    with file.open("rb") as opened:
        return opened.read(_HEAD_SIZE)


def _records(path: Path, name: str, limits: Limits) -> Iterator[Record]:
    """A record for each sample, with its own id if the log has one, else its index in the data.

    If several rows share an id (the two questions about an MME image), `#2` and so on is appended
    from the second row on. Raises DataError for a line that is not a sample.
    """
    check_size(path.stat().st_size, limits.document_mb * MB, "document_mb", name)
    with path.open("rb") as file:
        lines = enumerate(read_lines(file, limits, name), 1)
        samples = [_decode_sample(line, f"{name}, line {number}", limits) for number, line in lines if line.strip()]
    target_is_column = _is_column_name([sample.get("target") for sample in samples])
    indices_by_id: dict[str, list[str]] = {}
    for sample in samples:
        record = _sample_record(sample, target_is_column)
        indices = indices_by_id.setdefault(record["index"], [])
        index = str(sample["doc_id"])
        if index not in indices:
            indices.append(index)
        if indices.index(index):
            record["index"] += f"#{indices.index(index) + 1}"
        yield record


def _is_column_name(targets: Sequence[object]) -> bool:
    """Whether `target` is the name of a column in every row, so no gold answer."""
    first = targets[0] if targets else None
    return isinstance(first, str) and first in _GOLD_COLUMN_NAMES and all(target == first for target in targets)


def _decode_sample(line: bytes, where: str, limits: Limits) -> Record:
    value = decode_json(line, where, limits)
    if not isinstance(value, dict) or "doc_id" not in value:
        raise DataError(f"{where}: no sample of lmms-eval: it has no `doc_id`")
    if "resps" not in value and "filtered_resps" not in value:
        raise DataError(f"{where}: the sample holds no replies (`resps` or `filtered_resps`)")
    return value


def _sample_record(sample: Record, target_is_column: bool) -> Record:
    """A record from one sample: id, question, gold answer, reply, and the other cells of the data
    row."""
    doc = _text_cells(sample.get("doc"))
    aggregated = _aggregated_cells(sample)
    cells = {**aggregated, **doc}
    own = id_of({key: str(value) for key, value in cells.items()})
    record: Record = {
        "question": _prompt_text(sample),
        **{key: value for key, value in cells.items() if key not in ("index", *_EXCLUDED_COLUMNS)},
        "index": own if own is not None else str(sample["doc_id"]),
        "doc_id": cells.get("doc_id", sample["doc_id"]),
        DATA_ROW: sample["doc_id"],
    }
    gold = _sample_gold(sample, doc, aggregated, target_is_column)
    if gold is not None:
        record["answer"] = gold
    record |= _metric_cells(sample)
    raw, filtered = (_reply_text(sample.get(name)) for name in ("resps", "filtered_resps"))
    reply = raw if raw is not None else filtered
    if reply is None:
        record["error"] = "no reply was recorded"
    else:
        record["prediction"] = reply
    if filtered is not None and filtered != reply:
        record["filtered"] = filtered
    if _is_ranked(sample) and len(str(gold)) > 1 and "A" not in record:
        # The reply is a letter and the gold the text of an option, but the log has no options.
        record.pop("answer", None)
    return record


def _sample_gold(sample: Record, doc: Record, aggregated: Record, target_is_column: bool) -> Any:
    """The gold answer of a sample, from the first of these that holds one.

    HallusionBench's `gt_answer` (0 or 1, its `target` is the explanation); MVBench's letter;
    `target`; the data row.
    """
    if str(aggregated.get("gt_answer")) in ("0", "1") and "figure_id" in aggregated:
        return aggregated["gt_answer"]
    target = sample.get("target")
    letter = aggregated.get("gt_answer")
    if isinstance(letter, str) and len(letter) == 1 and len(str(target)) > 1:
        # MVBench's `target` is the text of the option; the log does not give its letter.
        return letter
    if not target_is_column and target is not None and str(target).strip().lower() not in _EMPTY_TARGETS:
        return target
    gold = next((doc[name] for name in _ROW_GOLD_COLUMNS if doc.get(name)), None)
    if isinstance(gold, list):
        gold = [item.get("answer", "") if isinstance(item, dict) else item for item in gold]
    return gold


def _metric_cells(sample: Record) -> Record:
    """The verdicts of the task's metrics and the answers that these were made of, as columns
    `lmms_eval.METRIC` and `lmms_eval.METRIC.FIELD`."""
    cells: Record = {}
    for key, value in sample.items():
        if key in _NOT_AGGREGATED or key in ("doc_id", _SUBMISSION):
            continue
        if isinstance(value, bool | int | float):
            cells[f"lmms_eval.{key}"] = value
        elif isinstance(value, dict):
            cells |= {f"lmms_eval.{key}.{name}": value[name] for name in _RECORDED if name in value}
    return cells


def _aggregated_cells(sample: Record) -> Record:
    """The cells of the object that the task aggregates and that holds an id, else of the first
    object.

    The object for an evaluation server comes last.
    """
    first_cells: Record = {}
    for key, value in sorted(sample.items(), key=lambda item: item[0] == _SUBMISSION):
        if key in _NOT_AGGREGATED or not isinstance(value, dict):
            continue
        cells = _text_cells(value)
        if any(name in cells for name in (*ID_COLUMNS, "image_id", "questionid")):
            return cells
        first_cells = first_cells or cells
    return first_cells


def _text_cells(fields: Any) -> Record:
    """The fields of an object by column name, without images, empty values and "nan"."""
    if not isinstance(fields, dict):
        return {}
    columns = ((column_name(str(key), 0), value) for key, value in fields.items())
    return {
        column: value
        for column, value in columns
        if value is not None
        and not is_image_column(column)
        and not (isinstance(value, str) and value.lower() in ("", "nan"))
    }


def _prompt_text(sample: Record) -> str:
    """The prompt that was sent: the first text among the arguments."""
    for name in ("input", "input_text", "arguments"):
        value = sample.get(name)
        while isinstance(value, list) and value:
            value = value[0]
        if isinstance(value, str):
            return value
    return ""


def _reply_text(value: Any) -> str | None:
    """The reply inside nested lists; for log-likelihoods, the letter of the most likely
    candidate."""
    if not isinstance(value, list):
        return value if isinstance(value, str) else None
    items = [_unwrap_lists(item) for item in value]
    likelihoods = _likelihoods(items)
    letters = option_letters(len(items))
    if likelihoods and letters:
        return letters[likelihoods.index(max(likelihoods))]
    first = items[0] if items else None
    return first if isinstance(first, str) else None


def _is_ranked(sample: Record) -> bool:
    value = sample.get("filtered_resps")
    return isinstance(value, list) and bool(_likelihoods([_unwrap_lists(item) for item in value]))


def _likelihoods(items: Sequence[Any]) -> list[float]:
    """The log-likelihoods of several candidates; empty for any other content."""
    likelihoods = [score for item in items if (score := _likelihood(item)) is not None]
    return likelihoods if len(items) > 1 and len(likelihoods) == len(items) else []


def _unwrap_lists(value: Any) -> Any:
    while isinstance(value, list) and len(value) == 1:
        value = value[0]
    return value


def _likelihood(value: Any) -> float | None:
    """The log-likelihood in `[log-likelihood, is greedy]`; both values may be written as text."""
    if not isinstance(value, list) or len(value) != 2 or str(value[1]) not in ("True", "False"):
        return None
    try:
        return float(value[0])
    except (TypeError, ValueError, OverflowError):
        return None


LAYOUT = ResultsLayout(
    "lmms-eval",
    "a sample log of lmms-eval",
    "`doc_id`, and `resps`, `filtered_resps` or `doc`, in the first line",
    _is_sample_log,
    _records,
)
