"""What a benchmark shares with another one, and with the pictures and captions of training data."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow
import pyarrow.parquet
import pytest
from drawn_scenes import CHANGES, draw_scene, jpeg, png

from snellen.core.errors import UsageError
from snellen.core.media import digest_bytes
from snellen.stats.intervals import score_interval
from snellen_curate.duplicates.find import find_duplicates, is_benchmark
from snellen_curate.duplicates.report import DuplicateReport, DuplicateSettings, OverlapMatch, OverlapReport

COUNT = 10
QUESTION = "Which of the things in this picture stands behind the large one, number {}?"


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SNELLEN_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Ten scenes with a question each, and one more question about the first."""
    folder = tmp_path / "bench"
    folder.mkdir()
    rows = []
    for seed in range(COUNT):
        (folder / f"{seed}.jpg").write_bytes(jpeg(draw_scene(seed)))
        row = {"question": QUESTION.format(seed), "answer": f"thing {seed}"}
        rows.append({"index": f"b{seed}", "image": f"{seed}.jpg", **row})
    rows.append({"index": "b0+", "question": "What is it?", "answer": "x", "image": "0.jpg"})
    return write_rows(folder / "bench.jsonl", rows)


def write_rows(path: Path, rows: list[dict[str, object]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def compare(data: Path, *against: Path | str) -> DuplicateReport:
    settings = DuplicateSettings(against=tuple(map(str, against)))
    return find_duplicates(data, settings, processes=1).report


def ways(report: OverlapReport) -> list[tuple[str, str, str]]:
    return [(one.item, one.other, one.image.how if one.image else "text") for one in report.matches]


@pytest.fixture
def training(tmp_path: Path) -> Path:
    """A folder of training pictures: the same file, other bytes, smaller copies, others."""
    folder = tmp_path / "train"
    folder.mkdir()
    scenes = [draw_scene(seed) for seed in range(COUNT)]
    (folder / "same.jpg").write_bytes(jpeg(scenes[0]))
    from snellen.core.media import decode_image

    (folder / "lossless.png").write_bytes(png(decode_image(jpeg(scenes[1]))))
    (folder / "small.jpg").write_bytes(jpeg(CHANGES["half the size"](scenes[2]), 50))
    (folder / "grey.png").write_bytes(png(CHANGES["without colour"](scenes[3])))
    for seed in range(100, 120):
        (folder / f"{seed}.jpg").write_bytes(jpeg(draw_scene(seed)))
    (folder / "broken.jpg").write_bytes(b"broken")
    return folder


EXPECTED = [
    ("b0", "same.jpg", "bytes"),
    ("b1", "lossless.png", "pixels"),
    ("b2", "small.jpg", "near"),
    ("b3", "grey.png", "near"),
    ("b0+", "same.jpg", "bytes"),
]


def test_a_folder_of_training_images(data: Path, training: Path) -> None:
    (report,) = compare(data, training).against
    assert ways(report) == EXPECTED
    assert (report.kind, report.entries, report.images, report.broken) == ("list", 25, 24, 1)
    shares = {share.name: share for share in report.shares}
    assert [(name, share.count, share.n) for name, share in shares.items()] == [
        ("picture, exact", 3, 11),
        ("picture, exact or near", 5, 11),
        ("question, in a caption", 0, 11),
        ("any of these", 5, 11),
    ]
    # Two items are about one picture: a cluster of the interval.
    scores = [1.0, 1.0, 1.0, 1.0, *[0.0] * 6, 1.0]
    clusters = [str(number) for number in [*range(10), 0]]
    assert shares["any of these"].interval == score_interval(scores, clusters)
    assert "1 of 25 entries could not be used" in report.notes


def write_manifest(training: Path, path: Path, *, lone: bool = False) -> Path:
    """What a team would publish of its training data: hashes and captions, no pictures."""
    import imagehash
    from PIL import Image

    rows: dict[str, list[object]] = {"url": [], "sha256": [], "phash": [], "dhash": [], "caption": []}
    for file in sorted(training.iterdir()):
        if file.name == "broken.jpg":
            continue
        image = Image.open(file).convert("RGB")
        rows["url"].append(f"https://example.org/{file.name}")
        rows["sha256"].append(digest_bytes(file.read_bytes()))
        rows["phash"].append(str(imagehash.phash(image)))
        rows["dhash"].append(str(imagehash.dhash(image)))
        rows["caption"].append(f"a picture called {file.stem}")
    rows["url"].append("https://example.org/qa")
    rows["caption"].append(QUESTION.format(7))
    for name in ("sha256", "phash", "dhash"):
        rows[name].append(None)
    if lone:
        del rows["dhash"]
    pyarrow.parquet.write_table(pyarrow.table(rows), path)
    return path


@pytest.mark.parametrize("lone", [False, True])
def test_a_manifest_of_hashes_and_captions(data: Path, training: Path, tmp_path: Path, lone: bool) -> None:
    manifest = write_manifest(training, tmp_path / "manifest.parquet", lone=lone)
    (report,) = compare(data, manifest).against
    base = "https://example.org/"
    # Pixels are not in the manifest: the lossless copy is found by its hash.
    assert ways(report) == [
        ("b0", f"{base}same.jpg", "bytes"),
        ("b1", f"{base}lossless.png", "near"),
        ("b2", f"{base}small.jpg", "near"),
        ("b3", f"{base}grey.png", "near"),
        ("b7", f"{base}qa", "text"),
        ("b0+", f"{base}same.jpg", "bytes"),
    ]
    assert report.matches[4].caption == QUESTION.format(7)
    assert report.matches[4].similarity == 1.0
    counts = {share.name: share.count for share in report.shares}
    assert counts == {"picture, exact": 2, "picture, exact or near": 5, "question, in a caption": 1, "any of these": 6}
    assert any("not downloaded" in note for note in report.notes)


def test_another_benchmark(data: Path, tmp_path: Path) -> None:
    folder = tmp_path / "other"
    folder.mkdir()
    small = CHANGES["half the size"]
    for name, image in (("x.jpg", small(draw_scene(0))), ("y.jpg", draw_scene(1)), ("z.jpg", draw_scene(50))):
        (folder / name).write_bytes(jpeg(image))
    rows: list[dict[str, object]] = [
        {"index": "o1", "question": QUESTION.format(0), "answer": "thing 0", "image": "x.jpg"},
        {"index": "o2", "question": QUESTION.format(1), "answer": "thing 9", "image": "y.jpg"},
        {"index": "o3", "question": "Something else entirely?", "answer": "no", "image": "y.jpg"},
        {"index": "o4", "question": QUESTION.format(3), "answer": "thing 3", "image": "z.jpg"},
    ]
    (report,) = compare(data, write_rows(folder / "other.jsonl", rows)).against
    found = [(one.item, one.other, one.image.how, one.relation) for one in report.matches if one.image]
    assert found == [
        ("b0", "o1", "near", "duplicate"),
        ("b1", "o2", "bytes", "possible contradiction"),
        ("b1", "o3", "bytes", None),
        ("b0+", "o1", "near", None),
    ]
    assert {share.name: share.count for share in report.shares} == {
        "picture, exact": 1,
        "picture, exact or near": 3,
        "picture and question": 2,
    }
    assert report.kind == "benchmark"


def test_text_only_items_of_another_benchmark(tmp_path: Path) -> None:
    own = [
        {"index": "a", "question": QUESTION.format(1), "A": "x", "B": "y", "answer": "A"},
        {"index": "b", "question": "What is two and two?", "answer": "4"},
    ]
    theirs = [{"index": "c", "question": QUESTION.format(1).upper(), "A": "y", "B": "x", "answer": "B"}]
    report = compare(write_rows(tmp_path / "own.jsonl", own), write_rows(tmp_path / "theirs.jsonl", theirs)).against[0]
    assert report.matches == (OverlapMatch("a", "c", None, "duplicate", "same question", 1.0),)
    assert report.notes == ("it has no pictures; only texts were compared",)


def test_image_repeated_in_training_data_is_counted(data: Path, tmp_path: Path) -> None:
    rows = [{"name": f"t{n}", "sha256": digest_bytes((data.parent / "0.jpg").read_bytes())} for n in range(50)]
    manifest = write_rows(tmp_path / "manifest.jsonl", rows)
    (report,) = compare(data, manifest).against
    assert len(report.matches) == 40
    assert report.left_out == 60
    assert report.shares[0].count == 2


@pytest.mark.parametrize(
    ("name", "text", "is_one"),
    [
        ("bench.jsonl", '{"question": "q", "image": "a.jpg"}', True),
        ("manifest.jsonl", '{"path": "a.jpg", "caption": "c"}', False),
        ("manifest.csv", "sha256,caption\naa,b", False),
        ("bench.tsv", "index\tquestion\timage\n1\tq\ta", True),
        ("unknown.csv", "weight\n3", True),
    ],
)
def test_recognises_a_benchmark_by_its_columns(tmp_path: Path, name: str, text: str, is_one: bool) -> None:
    (tmp_path / name).write_text(text + "\n")
    assert is_benchmark(tmp_path / name) is is_one


def test_recognises_benchmark_names_and_folders(tmp_path: Path) -> None:
    assert is_benchmark("eyechart")
    assert is_benchmark("hf://org/questions")
    assert not is_benchmark(tmp_path)
    assert not is_benchmark("missing.parquet")
    assert not is_benchmark("folder/missing")
    (tmp_path / "items.jsonl").write_text("{}\n")
    assert is_benchmark(tmp_path)


@pytest.mark.parametrize(
    ("against", "sentence"),
    [
        ("no-such-benchmark", "unknown benchmark 'no-such-benchmark'"),
        ("missing.parquet", "there is no file or folder missing.parquet"),
        ("a/b/c", "there is no file or folder a/b/c"),
    ],
)
def test_a_wrong_name_is_one_sentence(data: Path, against: str, sentence: str) -> None:
    with pytest.raises(UsageError, match=sentence):
        compare(data, against)


def test_an_empty_manifest_is_one_sentence(data: Path, tmp_path: Path) -> None:
    (tmp_path / "none.csv").write_text("path,caption\n")
    with pytest.raises(UsageError, match="is empty; expected a row for each picture"):
        compare(data, tmp_path / "none.csv")
