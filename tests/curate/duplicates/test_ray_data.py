"""Hashing and searching on a Ray cluster of this machine give what one process gives."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from drawn_scenes import draw_scene, jpeg, write_scenes

pytest.importorskip("ray")

from snellen.cli import main
from snellen.curate.duplicates import build_index as module
from snellen.curate.duplicates.build_index import build_index
from snellen.curate.duplicates.hash_index import HashIndex
from snellen.curate.duplicates.listing import open_listing
from snellen.curate.duplicates.picture_rule import PictureRule
from snellen.curate.duplicates.ray_data import open_ray_data

pytestmark = [pytest.mark.filterwarnings("default"), pytest.mark.release]


def test_a_cluster_hashes_and_searches_as_one_process_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MAX_BLOCK", 30)
    pictures = tmp_path / "pictures"
    write_scenes(pictures, 60)
    (pictures / "bad.jpg").write_bytes(b"bad")
    (pictures / "copy.jpg").write_bytes(jpeg(draw_scene(5), 60))
    alone, shared = tmp_path / "alone", tmp_path / "shared"
    build_index(open_listing(pictures), alone, processes=1, shard_size=10)
    with open_ray_data(None) as ray:
        build_index(open_listing(pictures), shared, shard_size=10, make_shards=ray.make_shards)
        one, other = HashIndex(alone), HashIndex(shared)
        assert len(other.info.blocks) == 3
        assert [file.name for file in sorted(alone.rglob("*"))] == [
            file.name for file in sorted(shared.rglob("*"))
        ]
        for file in alone.rglob("*.npy"):
            again = shared / file.relative_to(alone)
            assert file.read_bytes() == again.read_bytes(), file.name
        assert list(one.broken()) == list(other.broken())
        found = one.search(one.queries(), PictureRule())
        other.search_blocks = ray.search_blocks
        on_ray = other.search(other.queries(), PictureRule())
        assert len(found.row) == 60 + 1 + 2
        for left, right in zip(found, on_ray, strict=True):
            assert np.array_equal(left, right, equal_nan=left.dtype.kind == "f")


def test_flags_of_a_cluster(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["curate", "duplicates", "eyechart"]
    assert main([*words, "--address", "auto"]) == 2
    assert "add --executor ray" in capsys.readouterr().err
    assert main([*words, "--executor", "ray", "--processes", "2"]) == 2
    assert "leave out --clip, --processes" in capsys.readouterr().err
    assert main([*words, "--executor", "ray", "--address", "127.0.0.1:1"]) == 2
    assert "no Ray cluster answers at 127.0.0.1:1" in capsys.readouterr().err
