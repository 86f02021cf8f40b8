"""A run as the files that VLMEvalKit and the MMBench server read: one row per pass.

Rotation r of question i has the index i + r * 1,000,000, as in MMBench's own files. A failed
request is written as VLMEvalKit writes it, so that its reply is not taken for an answer. Some of
its scorers require columns and gold formats that a run's records do not have: `LAYOUTS`.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from snellen.core.atomic_write import save
from snellen.core.errors import UsageError
from snellen.core.record import Record
from snellen.store.export.asked_passes import ordered_records, pass_id, reply_text
from snellen.store.runs import RunFolder

SUBMISSION_FILE = "submission.xlsx"
FAILED = "Failed to obtain answer via API."
"""What VLMEvalKit writes for a failed request."""
SPLIT = "split"
CATEGORY = "category"
IMAGE_PATH = "image_path"
GROUPS = (CATEGORY, "l2-category", SPLIT)
_MAX_CELL_LENGTH = 32_767
"""Characters that a cell of an Excel workbook can hold."""


class FileLayout(NamedTuple):
    """How the file of one benchmark differs from the common layout."""

    listed_gold: bool = False
    """Whether the gold answers are always a list, even a single one."""
    by_image: bool = False
    """Whether the scorer groups questions about one image by the column `image_path`."""
    gold_list: str = ""
    """Name of an additional column with the gold answers as a list."""
    columns: Mapping[str, str] = {}
    """Our group columns by the name that VLMEvalKit gives them; ours are written too."""
    splits: Mapping[str, str] = {}
    """Values of the column `split`, which records do not have, by our name of the split."""


COMMON_LAYOUT = FileLayout()
LAYOUTS: Mapping[str, FileLayout] = {
    "mme": FileLayout(by_image=True),
    "amber": FileLayout(by_image=True),
    "ocrbench": FileLayout(listed_gold=True, columns={CATEGORY: "type"}),
    "coco-caption": FileLayout(listed_gold=True),
    "blink": FileLayout(columns={CATEGORY: "task"}),
    "vizwiz": FileLayout(gold_list="answers"),
    "mmmu": FileLayout(splits={"val": "validation", "dev": "dev", "test": "test"}),
}


class ExportSheet(NamedTuple):
    """A table of text cells."""

    columns: list[str]
    rows: list[dict[str, str]]
    """Cells by column; empty ones are absent."""


def vlmevalkit_sheet(run: RunFolder) -> ExportSheet:
    """Every pass of a run: index, question, options, answer, groups, prediction.

    Raises UsageError if rotations were asked of questions whose id is not a whole number.
    """
    layout = benchmark_layout(run.info.benchmark)
    split = run.info.config.parameters.get("split", "")
    rows = [row for record in ordered_records(run) for row in _rows(record, layout, split)]
    extra = dict.fromkeys(key for row in rows for key in row if _is_extra(key))
    options = sorted({key for row in rows for key in row if _is_option(key)})
    data_columns = [name for name in ("answer", *GROUPS) if any(name in row for row in rows)]
    return ExportSheet(["index", "question", *options, *data_columns, *extra, "prediction"], rows)


def mmbench_sheet(run: RunFolder) -> ExportSheet:
    """What the MMBench server takes: every rotation of every question with its raw reply.

    Raises UsageError for a run that lacks some: not circular, stopped early, or with failures.
    """
    records = ordered_records(run)
    mode = run.info.config.parameters.get("circular")
    again = f"run again with --circular full: {run.info.command or run.path}"
    if mode is None:
        raise UsageError(f"{run.path} asked each question once; {again}")
    failed = sum(record.is_retryable for record in records)
    if failed or run.info.status != "complete":
        raise UsageError(
            f"{run.path} is {run.info.status}, {failed} questions failed; the same command asks "
            f"them again: {run.info.command}"
        )
    stopped = sum(record.saved > 0 for record in records)
    if stopped:
        raise UsageError(
            f"{run.path} stopped {stopped} questions at their first failed pass, so that rotations are missing; {again}"
        )
    rows = [row for record in records for row in _rows(record)]
    options = sorted({"A", "B", "C", "D"} | {key for row in rows for key in row if _is_option(key)})
    data_columns = [name for name in ("answer", "split") if any(name in row for row in rows)]
    return ExportSheet(["index", "question", *options, "prediction", *data_columns], rows)


def write_submission(run: RunFolder) -> Path | None:
    """Write `submission.xlsx` into the run folder if a circular run has only hidden answers.

    Returns None if there is nothing to submit. Raises UsageError as `mmbench_sheet` does.
    """
    summary = run.report().summary
    if run.info.config.repeats > 1:
        return None
    hidden = summary.no_gold > 0 and summary.no_gold == summary.total
    if not hidden or "circular" not in run.info.config.parameters:
        return None
    path = run.path / SUBMISSION_FILE
    save(path, as_xlsx(mmbench_sheet(run)))
    return path


def as_tsv(sheet: ExportSheet) -> str:
    """Tab-separated, every cell in quotes, as VLMEvalKit writes it."""
    text = io.StringIO()
    lines = csv.writer(text, delimiter="\t", quoting=csv.QUOTE_ALL, lineterminator="\n")
    lines.writerow(sheet.columns)
    lines.writerows([row.get(column, "") for column in sheet.columns] for row in sheet.rows)
    return text.getvalue()


def as_xlsx(sheet: ExportSheet) -> bytes:
    """An Excel workbook; whole numbers as numbers, everything else as text, never a formula.

    Control characters, which a workbook cannot hold, become spaces. Raises UsageError for a reply
    that is longer than a cell may be.
    """
    from openpyxl import Workbook
    from openpyxl.cell import WriteOnlyCell
    from openpyxl.cell.cell import ILLEGAL_CHARACTERS_RE

    book = Workbook(write_only=True)
    page = book.create_sheet("Sheet1")
    page.append(sheet.columns)
    for row in sheet.rows:
        cells: list[object] = []
        for column in sheet.columns:
            text = ILLEGAL_CHARACTERS_RE.sub(" ", row.get(column, ""))
            if len(text) > _MAX_CELL_LENGTH:
                raise UsageError(
                    f"row {row['index']}: {column} has {len(text)} characters, a workbook's cell "
                    f"holds {_MAX_CELL_LENGTH}; export a TSV instead"
                )
            if column == "index" and text.isdecimal():
                cells.append(int(text))
                continue
            cell = WriteOnlyCell(page, text or None)
            if text:
                cell.data_type = "s"
            cells.append(cell)
        page.append(cells)
    content = io.BytesIO()
    book.save(content)
    return content.getvalue()


def _rows(record: Record, layout: FileLayout = COMMON_LAYOUT, split: str = "") -> Iterator[dict[str, str]]:
    for index, record_pass in enumerate(record.passes):
        options = record_pass.options or record.options
        reply = reply_text(record, record_pass, options)
        yield {
            "index": pass_id(record, record_pass, index),
            "question": record.question,
            **options,
            **({"answer": gold_cell(record_pass.gold, layout)} if record_pass.gold else {}),
            **extra_cells(record, layout, split),
            "prediction": FAILED if reply is None else reply,
        }


def _is_option(key: str) -> bool:
    return len(key) == 1 and "A" <= key <= "Z"


def _is_extra(key: str) -> bool:
    return not _is_option(key) and key not in ("index", "question", "answer", *GROUPS, "prediction")


def benchmark_layout(benchmark: str) -> FileLayout:
    return LAYOUTS.get(benchmark, COMMON_LAYOUT)


def gold_cell(gold: Sequence[str], layout: FileLayout) -> str:
    """A single answer as it is, several as a JSON list."""
    if len(gold) == 1 and not layout.listed_gold:
        return gold[0]
    return json.dumps(list(gold), ensure_ascii=False)


def extra_cells(record: Record, layout: FileLayout, split: str) -> dict[str, str]:
    """The record's groups and metadata, and cells that only VLMEvalKit's file has. `split` is our
    name of the run's split; "" if it has none."""
    cells = {**record.metadata, **record.groups}
    for theirs, ours in layout.columns.items():
        if theirs not in cells and ours in cells:
            cells[theirs] = cells[ours]
    if layout.by_image:
        cells[IMAGE_PATH] = record.unit or ",".join(record.media) or record.id
    if layout.gold_list and record.gold:
        cells[layout.gold_list] = json.dumps(list(record.gold), ensure_ascii=False)
    if split in layout.splits and SPLIT not in cells:
        cells[SPLIT] = layout.splits[split]
    return cells
