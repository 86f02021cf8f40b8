"""CC-OCR: packages that are needed only where trees are compared, and rows that are none of it."""

from __future__ import annotations

import builtins
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from snellen.benchmarks.declaration.registry import open_benchmark
from snellen.core.benchmark import Variant
from snellen.core.errors import DataError, MissingExtra
from snellen.scoring.field_trees import count_fields, field_similarity, parse_fields
from snellen.scoring.pages.teds import table_similarity

LAYOUT = Path(__file__).parent / "layouts" / "cc-ocr.tsv"
CELL = "<table><tr><td{}>12</td></tr></table>"


@pytest.fixture
def no_apted(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if the package were not installed."""
    plain: Callable[..., Any] = builtins.__import__

    def refuse(name: str, *rest: Any, **named: Any) -> Any:
        if name == "apted":
            raise ImportError(f"No module named {name!r}", name=name)
        return plain(name, *rest, **named)

    monkeypatch.setattr(builtins, "__import__", refuse)


@pytest.mark.parametrize(
    ("part", "rule"),
    [("all", None), ("doc_parsing", None), ("doc_parsing/table/table_scan_eng", None), ("kie", "vlmevalkit")],
)
@pytest.mark.usefixtures("no_apted")
def test_a_part_with_trees_names_the_extra(part: str, rule: str | None) -> None:
    variant = Variant(data=str(LAYOUT), options={"part": part}, rule=rule)
    with pytest.raises(MissingExtra, match=r"needs apted.*snellen\[documents\]"):
        open_benchmark("cc-ocr", variant).open()


@pytest.mark.parametrize("part", ["multi_scene_ocr", "kie", "doc_parsing/doc/doc_scan_eng"])
@pytest.mark.usefixtures("no_apted")
def test_the_other_parts_need_no_package(part: str) -> None:
    variant = Variant(data=str(LAYOUT), options={"part": part})
    assert len(open_benchmark("cc-ocr", variant).open()) == 8


@pytest.mark.parametrize(
    ("cell", "other", "column"), [("\tkie\t", "\tforms\t", "category"), ("\tformula\t", "\tmusic\t", "l2-category")]
)
def test_a_row_of_no_known_task_is_refused(tmp_path: Path, cell: str, other: str, column: str) -> None:
    file = tmp_path / "rows.tsv"
    file.write_text(LAYOUT.read_text().replace(cell, other))
    benchmark = open_benchmark("cc-ocr", Variant(data=str(file)))
    with pytest.raises(DataError, match=f"the column {column} is '{other.strip()}'"):
        list(benchmark.samples(benchmark.open()))


def test_invalid_colspan_counts_as_one() -> None:
    plain, odd = CELL.format(""), CELL.format(' colspan="wide"')
    assert table_similarity(odd, plain) == 1.0
    assert table_similarity(CELL.format(' colspan="2"'), plain) == 0.5
    assert table_similarity("no table", plain) == 0.0


def test_a_gold_without_fields_is_matched_by_none() -> None:
    assert field_similarity({}, {}) == 1.0
    assert field_similarity({"a": "b"}, {}) == 0.0
    assert count_fields({"a": "b"}, {}).f1() == 0.0


def test_fields_of_json_and_of_a_python_literal() -> None:
    assert parse_fields('{"a": null}') == {"a": None}
    assert parse_fields("{'a': 'b'}") == {"a": "b"}
    assert parse_fields("a: b") is None
