"""An index of picture hashes: what it is built of, that a killed build goes on, what is found."""

from __future__ import annotations

import csv
import io
import json
import os
import signal
import subprocess
import sys
import tarfile
import time
from pathlib import Path

import numpy as np
import psutil
import pyarrow
import pyarrow.parquet
import pytest
from drawn_scenes import draw_scene, jpeg, png, write_scenes
from PIL import Image

from snellen.core.errors import DataError, UsageError
from snellen.core.media import digest_bytes
from snellen_curate.duplicates import hash_index
from snellen_curate.duplicates.build_index import IndexProgress, ListChanged, build_index
from snellen_curate.duplicates.hash_index import INDEX_FILE, HashIndex, IndexInfo
from snellen_curate.duplicates.image_hashes import hash_images
from snellen_curate.duplicates.image_rule import ImageRule
from snellen_curate.duplicates.listing import ListEntry, open_listing


def built(spec: Path, out: Path, size: int = 4) -> HashIndex:
    build_index(open_listing(spec), out, processes=1, shard_size=size)
    return HashIndex(out)


def entries(spec: Path) -> list[ListEntry]:
    (batch,) = open_listing(spec).batches(1_000)
    return batch


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Ten scenes, one of them twice, one flat picture, one broken file, and a file of text."""
    images = tmp_path / "pictures"
    write_scenes(images, 10)
    (images / "again.jpg").write_bytes((images / "000/000003.jpg").read_bytes())
    (images / "flat.png").write_bytes(png(Image.new("RGB", (40, 30), "white")))
    (images / "broken.jpg").write_bytes(b"no picture")
    (images / "notes.txt").write_text("not a picture")
    return images


def test_a_folder_is_hashed_whole(folder: Path, tmp_path: Path) -> None:
    index = built(folder, tmp_path / "index")
    assert index.info.entries == len(index) == 13
    assert index.info.shards == (4, 4, 4, 1)
    assert (index.info.images, index.info.flat, index.info.broken) == (12, 1, 1)
    names = [index.text("names", row) for row in range(13)]
    assert names == ["again.jpg", "broken.jpg", "flat.png", *(f"000/{n:06}.jpg" for n in range(10))]
    ((name, reason),) = index.broken()
    assert name == "broken.jpg"
    assert "no PNG, JPEG" in reason


def test_search_finds_copies_and_nothing_else(folder: Path, tmp_path: Path) -> None:
    index = built(folder, tmp_path / "index")
    queries = index.queries()
    found = index.search(queries, ImageRule())
    assert {(query, row) for query, row in found if query < row} == {
        (0, 6)
    }  # The flat picture has no hash that could match.
    small = tmp_path / "small"
    small.mkdir()
    for seed in (2, 5):
        scene = draw_scene(seed)
        half = scene.resize((scene.width // 2, scene.height // 2))
        (small / f"{seed}.jpg").write_bytes(jpeg(half, 60))
    copies = built(small, tmp_path / "copies")
    found = index.search(copies.queries(), ImageRule())
    assert [index.text("names", row) for _, row in found] == ["000/000002.jpg", "000/000005.jpg"]
    for match in found.values():
        assert match.how == "near"
        assert match.phash is not None
        assert match.phash <= 6
        assert match.likeness is not None
        assert match.likeness > 0.97


def test_digests_find_the_same_file_and_the_same_pixels(folder: Path, tmp_path: Path) -> None:
    index = built(folder, tmp_path / "index")
    sha256 = np.frombuffer(bytes.fromhex(digest_bytes((folder / "again.jpg").read_bytes())), np.uint8)
    assert index.search_digests(sha256[None], "sha256") == [(0, 0), (0, 6)]
    other = tmp_path / "other"
    other.mkdir()
    (other / "lossless.png").write_bytes(png(Image.open(folder / "again.jpg").convert("RGB")))
    (other / "white.bmp").write_bytes(png(Image.new("RGB", (40, 30), "white")))
    pixels = built(other, tmp_path / "copies").column("pixels")
    assert index.search_digests(pixels, "pixels") == [(0, 0), (0, 6), (1, 2)]
    assert index.search_digests(np.zeros((1, 32), np.uint8), "pixels") == []


def test_turned_images_are_found_unless_asked_otherwise(folder: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    mirrored = draw_scene(4).transpose(Image.Transpose.FLIP_LEFT_RIGHT)
    turned = draw_scene(5).transpose(Image.Transpose.ROTATE_90)
    (other / "mirrored.png").write_bytes(png(mirrored))
    (other / "turned.png").write_bytes(png(turned))
    build_index(open_listing(other), tmp_path / "queries", processes=1, has_turned=True)
    queries = HashIndex(tmp_path / "queries").queries()
    index = built(folder, tmp_path / "index")
    assert index.search(queries, ImageRule(turned=False)) == {}
    found = index.search(queries, ImageRule())
    assert [index.text("names", row) for _, row in found] == ["000/000004.jpg", "000/000005.jpg"]
    assert {(match.how, match.dhash) for match in found.values()} == {("turned", None)}


def test_a_finished_shard_is_not_written_again(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out = tmp_path / "index"
    built(folder, out)
    last = out / "shards" / "000002.arrow"
    stamps = {path: path.stat().st_mtime_ns for path in out.rglob("*.arrow")}
    last.unlink()
    info = json.loads((out / INDEX_FILE).read_text())
    (out / INDEX_FILE).write_text(json.dumps(info | {"complete": False}))
    (out / "shards" / "000002.arrow.7.part").write_bytes(b"half")
    seen: list[IndexProgress] = []
    build_index(open_listing(folder), out, processes=1, shard_size=4, on_progress=seen.append)
    assert [(one.entries, one.reused) for one in seen] == [(4, 4), (8, 8), (12, 8), (13, 9)]
    assert all(path.stat().st_mtime_ns == at for path, at in stamps.items() if path != last)
    assert len(HashIndex(out)) == 13


def test_killed_build_resumes(tmp_path: Path) -> None:
    """kill -9 in the middle, with processes: what is finished stays, and no process is left."""
    images, out = tmp_path / "pictures", tmp_path / "index"
    write_scenes(images, 1_200)
    program = (
        "import sys; from pathlib import Path\n"
        "from snellen_curate.duplicates.build_index import build_index\n"
        "from snellen_curate.duplicates.listing import open_listing\n"
        "if __name__ == '__main__':\n"
        "    build_index(open_listing(sys.argv[1]), Path(sys.argv[2]), processes=2, shard_size=300)"
    )
    script = tmp_path / "build.py"
    script.write_text(program)
    process = subprocess.Popen([sys.executable, str(script), str(images), str(out)])
    deadline = time.monotonic() + 120
    while not (out / "shards" / "000000.arrow").exists():
        assert process.poll() is None, "it ended before it could be killed"
        assert time.monotonic() < deadline
        time.sleep(0.005)
    workers = psutil.Process(process.pid).children(recursive=True)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    assert psutil.wait_procs(workers, timeout=20)[1] == []
    finished = list((out / "shards").glob("*.arrow"))
    assert 1 <= len(finished) < 4
    seen: list[IndexProgress] = []
    build_index(open_listing(images), out, processes=1, shard_size=300, on_progress=seen.append)
    assert seen[-1] == IndexProgress(1_200, 300 * len(finished))
    index = HashIndex(out)
    assert index.info.images == 1_200
    (expected,) = hash_images([_source(images / "000/000777.jpg")])
    assert int(index.row(777, "phash")) == expected.phash  # type: ignore[union-attr]


def _source(path: Path) -> object:
    from snellen.core.media import FileSource

    return FileSource(str(path))


def test_another_list_is_refused(folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "index"
    built(folder, out)
    (folder / "zzz.jpg").write_bytes(jpeg(draw_scene(50)))
    with pytest.raises(ListChanged, match="lists other pictures than when"):
        built(folder, out)
    (folder / "zzz.jpg").unlink()
    (folder / "again.jpg").rename(folder / "renamed.jpg")
    with pytest.raises(ListChanged, match="lists other pictures than when"):
        built(folder, out)


def test_a_damaged_file_is_one_sentence(folder: Path, tmp_path: Path) -> None:
    index = built(folder, tmp_path / "index")
    (tmp_path / "index" / "shards" / "000001.arrow").write_bytes(b"damage")
    with pytest.raises(DataError, match=r"cannot be read: .*; delete its folder"):
        index.queries()
    (tmp_path / "index" / INDEX_FILE).write_text('{"shards": "x"}')
    with pytest.raises(DataError, match=r"index.json cannot be read: .*; delete its folder"):
        HashIndex(tmp_path / "index")


def test_every_pair_of_near_hashes_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As comparing bit by bit does: over shards, of hashes of a list."""
    draw = np.random.default_rng(7)
    hashes = draw.integers(0, 1 << 64, 500, dtype=np.uint64)
    hashes[400:] = hashes[:100] ^ (np.uint64(1) << draw.integers(0, 64, 100).astype(np.uint64))
    path = tmp_path / "list.jsonl"
    path.write_text("".join(json.dumps({"phash": f"{int(one):016x}"}) + "\n" for one in hashes))
    index = built(path, tmp_path / "index", 150)
    monkeypatch.setattr(hash_index, "_HASHES_AT_ONCE", 400)
    for radius in (0, 1, 20):
        found = index.near_hashes(hashes[380:450], radius)
        bits = [[(int(one) ^ int(other)).bit_count() for other in hashes] for one in hashes[380:450]]
        expected = {
            (query, row, distance)
            for query, row_bits in enumerate(bits)
            for row, distance in enumerate(row_bits)
            if distance <= radius
        }
        assert len(found.row) == len(expected)
        assert set(zip(*(column.tolist() for column in found), strict=True)) == expected
    assert len(index.near_hashes(hashes[:0], 10).row) == 0


MANIFEST = [
    {"path": "a.jpg", "caption": "a red cat on a sofa"},
    {"path": "missing.jpg", "caption": "lost"},
    {"url": "https://example.org/b.jpg", "caption": "only an address"},
    {"url": "https://example.org/c.jpg", "phash": "00ff00ff00ff00ff", "sha256": "ab" * 32},
    {"url": "https://example.org/d.jpg", "phash": "wrong"},
    {"url": "https://example.org/e.jpg"},
]


def write_manifest(path: Path) -> Path:
    (path.parent / "a.jpg").write_bytes(jpeg(draw_scene(1)))
    columns = list(dict.fromkeys(name for row in MANIFEST for name in row))
    if path.suffix == ".parquet":
        table = pyarrow.table({name: [row.get(name) for row in MANIFEST] for name in columns})
        pyarrow.parquet.write_table(table, path)
    elif path.suffix == ".csv":
        with path.open("w", newline="") as file:
            writer = csv.DictWriter(file, columns)
            writer.writeheader()
            writer.writerows(MANIFEST)
    else:
        path.write_text("".join(json.dumps(row) + "\n" for row in MANIFEST))
    return path


@pytest.mark.parametrize("suffix", [".parquet", ".jsonl", ".csv"])
def test_manifests_of_every_form_say_the_same(suffix: str, tmp_path: Path) -> None:
    index = built(write_manifest(tmp_path / f"manifest{suffix}"), tmp_path / "index")
    info = index.info
    assert (info.entries, info.images, info.captions) == (6, 2, 3)
    assert (info.broken, info.only_text) == (3, 1)
    assert index.text("names", 0) == "a.jpg"
    assert index.text("names", 2) == "https://example.org/b.jpg"
    assert index.text("captions", 2) == "only an address"
    reasons = [reason for _, reason in index.broken()]
    assert "missing.jpg" in reasons[0]
    assert "row 5: 'wrong' is no 64-bit hash" in reasons[1]
    assert "row 6: it has only an address: it is not downloaded" in reasons[2]
    found = index.near_hashes(np.array([0x00FF00FF00FF00FE], np.uint64), 2)
    assert (found.row.tolist(), found.distance.tolist()) == ([3], [1])
    assert index.search_texts(["A red cat on a sofa!"], 0.8) == [(0, 0, 1.0)]


def test_a_list_of_some_images_and_some_hashes(tmp_path: Path) -> None:
    """Of a match with a hash alone no small copy is known, whatever its neighbours have."""
    scene = jpeg(draw_scene(3))
    (found,) = hash_images([_bytes(scene)])
    lone = {"phash": f"{found.phash:016x}", "dhash": f"{found.dhash:016x}"}  # type: ignore[union-attr]
    (tmp_path / "a.jpg").write_bytes(jpeg(draw_scene(1)))
    path = tmp_path / "mixed.jsonl"
    path.write_text(json.dumps({"path": "a.jpg"}) + "\n" + json.dumps(lone) + "\n")
    index = built(path, tmp_path / "index")
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "x.jpg").write_bytes(scene)
    queries = built(tmp_path / "own", tmp_path / "queries").queries()
    ((pair, match),) = index.search(queries, ImageRule()).items()
    assert (pair, match.phash, match.likeness) == ((0, 1), 0, None)


def test_columns_of_laion_and_datacomp(tmp_path: Path) -> None:
    path = tmp_path / "laion.parquet"
    columns = {"URL": ["https://x/1"], "TEXT": ["a dog"], "sha256": ["cd" * 32], "uid": ["u1"]}
    pyarrow.parquet.write_table(pyarrow.table(columns), path)
    batch = entries(path)
    assert [(one.name, one.caption, one.sha256) for one in batch] == [("u1", "a dog", bytes.fromhex("cd" * 32))]


def test_images_in_cells_of_hugging_face_files(tmp_path: Path) -> None:
    path = tmp_path / "train.parquet"
    cells = [{"bytes": png(draw_scene(1)), "path": "1.png"}, {"bytes": None, "path": "gone.png"}]
    pyarrow.parquet.write_table(pyarrow.table({"image": cells, "text": ["one", "two"]}), path)
    index = built(path, tmp_path / "index")
    assert (index.info.images, index.info.broken) == (1, 1)


def test_webdataset_tars(tmp_path: Path) -> None:
    shards = tmp_path / "shards"
    shards.mkdir()
    for number in range(2):
        with tarfile.open(shards / f"{number:05}.tar", "w") as archive:
            for name, data in (
                (f"{number}1.jpg", jpeg(draw_scene(number))),
                (f"{number}1.txt", b"a caption"),
                (f"{number}2.json", b'{"caption": "of json", "url": "x"}'),
                (f"{number}2.png", png(draw_scene(number + 10))),
                (f"{number}3.jpg", b"broken"),
                (f"{number}4.cls", b"7"),
            ):
                member = tarfile.TarInfo(name)
                member.size = len(data)
                archive.addfile(member, io.BytesIO(data))
    index = built(shards, tmp_path / "index")
    names = [index.text("names", row) for row in range(3)]
    assert names == ["00000.tar/01.jpg", "00000.tar/02.png", "00000.tar/03.jpg"]
    assert [index.text("captions", row) for row in range(3)] == ["a caption", "of json", ""]
    assert (index.info.entries, index.info.images, index.info.broken) == (6, 4, 2)
    (expected,) = hash_images([_bytes(jpeg(draw_scene(1)))])
    assert int(index.row(3, "phash")) == expected.phash  # type: ignore[union-attr]


def _bytes(data: bytes) -> object:
    from snellen.core.media import InlineSource

    return InlineSource(data)


@pytest.mark.parametrize(
    ("name", "content", "sentence"),
    [
        ("empty.jsonl", b"", "is empty; expected a row for each picture"),
        ("empty.csv", b"", "is empty"),
        ("head.csv", b"path,caption\n", "is empty"),
        ("other.jsonl", b'{"weight": 3}\n', "has no column by which .* it has weight"),
        ("bad.parquet", b"nothing", "cannot be read as Parquet"),
        ("bad.tar", b"nothing", "cannot be read as a tar file"),
        ("movie.mp4", b"x", "is no list of pictures; expected a folder"),
    ],
)
def test_file_that_is_not_a_list_gives_one_sentence(tmp_path: Path, name: str, content: bytes, sentence: str) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(UsageError, match=sentence):
        built(path, tmp_path / "index")


def test_lines_that_are_not_json_are_recorded(tmp_path: Path) -> None:
    path = tmp_path / "list.jsonl"
    path.write_text('{"caption": "one"}\nnot json\n[1]\n')
    index = built(path, tmp_path / "index")
    reasons = [reason for _, reason in index.broken()]
    assert (index.info.entries, index.info.only_text) == (3, 1)
    assert "row 2: it is no JSON" in reasons[0]
    assert "row 3: it is no JSON object" in reasons[1]


def test_a_folder_without_images_and_a_missing_one(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="holds no picture"):
        open_listing(tmp_path)
    with pytest.raises(UsageError, match="there is no file or folder"):
        open_listing(tmp_path / "none")


def test_an_empty_parquet_manifest_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "none.parquet"
    pyarrow.parquet.write_table(pyarrow.table({"path": pyarrow.array([], pyarrow.string())}), path)
    with pytest.raises(UsageError, match="is empty: it lists no picture and no caption"):
        built(path, tmp_path / "index")


def test_the_info_says_what_an_index_is_of(folder: Path, tmp_path: Path) -> None:
    info = built(folder, tmp_path / "index").info
    assert isinstance(info, IndexInfo)
    assert (info.source, info.kind, info.complete) == (str(folder), "folder", True)
