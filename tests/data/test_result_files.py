"""Files of results in the layouts that VLMEvalKit, LLaVA and the authors of benchmarks write are
scored as their replies deserve; `result_files.json` holds one of each, with questions of our own:
of two rows the first reply is right and the second is wrong."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest
from openpyxl import Workbook

from snellen.api.scoring import score
from snellen.core.benchmark import Variant

FILES = json.loads((Path(__file__).parent / "result_files.json").read_text(encoding="utf-8"))


def workbook(rows: list[dict[str, Any]]) -> bytes:
    book = Workbook()
    sheet = book.active
    assert sheet is not None
    columns = list(dict.fromkeys(name for row in rows for name in row))
    sheet.append(columns)
    for row in rows:
        sheet.append([row.get(name) for name in columns])
    stream = io.BytesIO()
    book.save(stream)
    return stream.getvalue()


@pytest.mark.parametrize("file", FILES, ids=lambda file: file["name"])
def test_the_first_reply_is_right_and_the_second_wrong(write, file: dict[str, Any]) -> None:
    content = file["content"]
    content = content if isinstance(content, str) else workbook(content)
    path = write(f"model_dataset{file['file']}", content)
    data = write(f"data{file['data'][0]}", file["data"][1]) if "data" in file else None
    variant = Variant(options=file.get("options", {}), circular=file.get("circular"))
    found = score(file["benchmark"], path, data=data, variant=variant)
    assert [record.score for record in found.records] == file.get("scores", [1.0, 0.0])
    assert {record.outcome for record in found.records} == {"answered"}
    assert not [told for told in found.warnings if "no known question" in told]
