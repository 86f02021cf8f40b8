"""Embeddings by a CLIP checkpoint with random weights: the plumbing, not the quality."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from drawing_checkpoints import clip
from drawn_scenes import draw_scene, jpeg, png

from snellen.core.errors import ModelError, UsageError
from snellen.core.media import InlineSource
from snellen.curate.duplicates.embeddings import PictureEmbedder
from snellen.curate.duplicates.find import find_duplicates, write_index
from snellen.curate.duplicates.report import DuplicateSettings


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SNELLEN_CACHE", str(tmp_path / "cache"))


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> str:
    return f"clip/{clip(tmp_path_factory.mktemp('clip'))}"


@pytest.fixture
def data(tmp_path: Path) -> Path:
    folder = tmp_path / "data"
    folder.mkdir()
    scene = draw_scene(1)
    pictures = {"a": jpeg(scene), "b": jpeg(scene, 70), "c": jpeg(draw_scene(9)), "d": b"broken"}
    for name, content in pictures.items():
        (folder / f"{name}.jpg").write_bytes(content)
    rows = [{"index": name, "question": "What is it?", "answer": "x", "image": f"{name}.jpg"}
            for name in pictures]  # fmt: skip
    path = folder / "data.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def test_embeddings_have_unit_length_and_broken_pictures_none(checkpoint: str) -> None:
    embedder = PictureEmbedder(checkpoint)
    sources = [InlineSource(png(draw_scene(1))), None, InlineSource(b"no picture")]
    found = embedder.embed([*sources, InlineSource(png(draw_scene(1)))])
    lengths = np.linalg.norm(found.astype(np.float32), axis=1)
    assert lengths == pytest.approx([1, 0, 0, 1], abs=2e-3)
    assert np.array_equal(found[0], found[3])
    assert embedder.embed([None]) is None


def test_pairs_by_embedding_within_and_against(data: Path, checkpoint: str, tmp_path: Path) -> None:
    # A radius of 0 leaves the recompressed copy to the embeddings.
    from snellen.curate.duplicates.picture_rule import PictureRule

    index = write_index(str(data), tmp_path / "index", clip=checkpoint, processes=1)
    assert index.info.embedder == checkpoint
    settings = DuplicateSettings(
        PictureRule(radius=0, likeness=1.0, hash_radius=0, lone_radius=0, crops=False),
        clip=checkpoint, clip_threshold=0.999, against=(str(tmp_path / "index"),),
    )  # fmt: skip
    report = find_duplicates(data, settings, processes=1).report
    (pair,) = report.duplicates
    assert (pair.left, pair.right) == ("a", "b")
    assert pair.picture is not None
    assert pair.picture.how == "embedding"
    assert pair.picture.cosine is not None
    assert pair.picture.cosine >= 0.999
    ways = {(one.item, one.picture.how) for one in report.against[0].matches if one.picture}
    assert {("a", "bytes"), ("a", "embedding"), ("b", "bytes")} <= ways


def test_an_index_without_these_embeddings_is_refused(
    data: Path, checkpoint: str, tmp_path: Path
) -> None:
    write_index(str(data), tmp_path / "index", processes=1)
    settings = DuplicateSettings(clip=checkpoint, against=(str(tmp_path / "index"),))
    with pytest.raises(UsageError, match="was written without the embeddings of clip/"):
        find_duplicates(data, settings, processes=1)


def test_a_model_that_does_not_load_is_an_error_and_no_row_of_zeros(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text('{"model_type": "clip"}')
    with pytest.raises((ModelError, UsageError)):
        PictureEmbedder(f"clip/{tmp_path}").embed([InlineSource(png(draw_scene(1)))])
