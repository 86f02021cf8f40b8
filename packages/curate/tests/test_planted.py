"""The planted data set is what its tables say: checked by asking the recorded replies."""

from __future__ import annotations

from pathlib import Path

import planted
import pytest
from planted import Planted

import snellen


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Planted:
    return planted.build(tmp_path_factory.mktemp("planted"))


def test_planted_data_are_reproducible(made: Planted, tmp_path: Path) -> None:
    again = planted.build(tmp_path)
    for path in sorted(made.folder.rglob("*.*")):
        assert path.read_bytes() == (again.folder / path.relative_to(made.folder)).read_bytes()


def test_no_item_is_bad_in_two_ways(made: Planted) -> None:
    bad = [name for names in made.planted.values() for name in names]
    assert len(bad) == len(set(bad)) == 32
    assert set(made.planted) == set(planted.KINDS)
    assert not set(made.slips) & set(bad)
    assert sorted(made.slips.values()) == sorted(planted.SLIPS)


@pytest.mark.parametrize("data", ["data", "rotated"])
def test_models_are_right_where_the_tables_say(made: Planted, tmp_path: Path, data: str) -> None:
    names = ["text-1", "text-3", "vision-1", "vision-5"]
    results = snellen.evaluate(
        made.models(names),
        str(getattr(made, data)),
        out=tmp_path,
        html=False,
        variant=snellen.Variant(circular="early"),
    )
    for name, run in zip(names, results, strict=True):
        samples = list(run.samples())
        assert {sample.id for sample in samples if sample.score == 1.0} == made.right[name]
        assert {sample.id for sample in samples if sample.score is None} == made.silent[name]
        assert len(samples) == len(made.ids)
