"""Hashing on a Ray cluster of this machine gives what one process gives."""

from __future__ import annotations

from pathlib import Path

import pytest
from drawn_scenes import write_scenes

pytest.importorskip("ray")

from snellen.cli import main
from snellen.curate.duplicates.build_index import build_index
from snellen.curate.duplicates.hash_index import HashIndex
from snellen.curate.duplicates.listing import open_listing
from snellen.curate.duplicates.ray_data import open_ray_data

pytestmark = [pytest.mark.filterwarnings("default"), pytest.mark.release]


def test_a_cluster_hashes_as_one_process_does(tmp_path: Path) -> None:
    pictures = tmp_path / "pictures"
    write_scenes(pictures, 60)
    (pictures / "bad.jpg").write_bytes(b"bad")
    alone, shared = tmp_path / "alone", tmp_path / "shared"
    build_index(open_listing(pictures), alone, processes=1, shard_size=10)
    with open_ray_data(None) as make_shards:
        build_index(open_listing(pictures), shared, shard_size=10, make_shards=make_shards)
    files = [file.relative_to(alone) for file in sorted(alone.rglob("*.arrow"))]
    assert len(files) == 7
    for file in files:
        assert (alone / file).read_bytes() == (shared / file).read_bytes(), file
    assert list(HashIndex(alone).broken()) == list(HashIndex(shared).broken())


def test_flags_of_a_cluster(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["curate", "duplicates", "eyechart"]
    assert main([*words, "--address", "auto"]) == 2
    assert "add --executor ray" in capsys.readouterr().err
    assert main([*words, "--executor", "ray", "--processes", "2"]) == 2
    assert "leave out --clip, --processes" in capsys.readouterr().err
    assert main([*words, "--executor", "ray", "--address", "127.0.0.1:1"]) == 2
    assert "no Ray cluster answers at 127.0.0.1:1" in capsys.readouterr().err
