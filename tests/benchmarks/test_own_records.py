"""Descriptions of the user's own that ask for records, and what is wrong with them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from snellen.benchmarks.declaration.registry import open_benchmark
from snellen.core.errors import DataError


def described(folder: Path, answer: object, more: str = "") -> str:
    (folder / "rows.jsonl").write_text(json.dumps({"question": "Read it", "answer": answer}) + "\n")
    (folder / "records.toml").write_text(f'data = "rows.jsonl"\nkind = "fields"\n{more}')
    return str(folder / "records.toml")


def test_gold_records_as_objects_are_refused(tmp_path: Path) -> None:
    record = {"shop": "Aldi", "items": [{"name": "Milk"}]}
    with pytest.raises(DataError, match=r"rows\.jsonl: its gold records are objects; expected the JSON of each"):
        open_benchmark(described(tmp_path, record))
    benchmark = open_benchmark(described(tmp_path, json.dumps(record)))
    (sample,) = benchmark.samples(benchmark.open())
    assert json.loads(sample.gold[0]) == record


def test_the_place_of_a_mistake_in_a_schema_is_named(tmp_path: Path) -> None:
    pytest.importorskip("jsonschema")
    more = '[response_schema.properties]\ntotal = { type = "nummer" }\n'
    with pytest.raises(DataError, match=r"no JSON Schema: 'nummer' .* \(at \$\.properties\.total\.type\)"):
        open_benchmark(described(tmp_path, "{}", more))
