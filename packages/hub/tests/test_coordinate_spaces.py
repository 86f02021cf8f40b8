"""A run that asks for places is taken in the coordinate space of the board alone."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from PIL import Image

from snellen.core.errors import DataError
from snellen.core.secret import Secret
from snellen_hub.database.connection import Database
from snellen_hub.hosting import NewBenchmark, add_benchmark
from snellen_hub.intake import _check_space
from snellen_hub.storage import Storage


def run_in(space: str) -> dict[str, object]:
    return {"config": {"parameters": {"coordinates": space}}}


@pytest.mark.parametrize("spec", ["", "screenspot", "screenspot:version=2"])
def test_another_space_than_that_of_the_board_is_refused(spec: str) -> None:
    _check_space(spec, run_in("fractions"))
    _check_space(spec, {})
    with pytest.raises(DataError, match="this board reads coordinates=fractions; run once more"):
        _check_space(spec, run_in("thousandths"))


def test_the_space_of_a_board_is_that_of_its_benchmark() -> None:
    _check_space("screenspot:coordinates=thousandths", run_in("thousandths"))
    with pytest.raises(DataError, match="reads coordinates=thousandths"):
        _check_space("screenspot:coordinates=thousandths", run_in("fractions"))


def test_data_without_the_sizes_of_their_pictures_are_refused(database: Database, tmp_path: Path) -> None:
    Image.new("RGB", (100, 200)).save(tmp_path / "one.png")
    asked = {"id": "a", "question": "Where?", "bbox": [10, 20, 60, 70], "image_path": "one.png"}
    data, spec = tmp_path / "places.jsonl", tmp_path / "places.toml"
    spec.write_text('data = "places.jsonl"\nkind = "place"\n[place]\nshape = "box"\n')
    new = NewBenchmark(name="x", title="X", data=data, spec=str(spec))
    storage = Storage(str(tmp_path / "storage"), Secret("a key of the tests"))
    data.write_text(json.dumps(asked))
    with database.writing() as session, pytest.raises(DataError, match="item a does not say how large its picture is"):
        add_benchmark(session, storage, new)
    data.write_text(json.dumps({**asked, "width": 100, "height": 200}))
    with database.writing() as session:
        add_benchmark(session, storage, new)
