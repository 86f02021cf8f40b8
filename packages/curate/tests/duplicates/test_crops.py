"""Cropped and framed copies are found; pictures that only share a frame or a word are not."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from drawn_scenes import draw_scene, jpeg, png
from PIL import Image, ImageDraw, ImageOps

from snellen.cli import main
from snellen_curate.duplicates.find import find_duplicates
from snellen_curate.duplicates.image_rule import ImageRule, is_plain, small_copy
from snellen_curate.duplicates.match_images import BOXES, WHOLE, Part, cut_copies
from snellen_curate.duplicates.report import DuplicateReport, DuplicateSettings

Change = Callable[[Image.Image], Image.Image]


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SNELLEN_CACHE", str(tmp_path / "cache"))


def crop(left: float, top: float, right: float, bottom: float) -> Change:
    def apply(image: Image.Image) -> Image.Image:
        width, height = image.size
        sides = (width * left, height * top, width * (1 - right), height * (1 - bottom))
        return image.crop(tuple(map(round, sides)))

    return apply


def frame(across: float, down: float, colour: str) -> Change:
    return lambda image: ImageOps.expand(image, (round(across * image.width), round(down * image.height)), colour)


def bar(image: Image.Image) -> Image.Image:
    whole = Image.new("RGB", (image.width, round(1.12 * image.height)), "#f0f0f0")
    whole.paste(image, (0, whole.height - image.height))
    return whole


CHANGES: dict[str, Change] = {
    "5 % of each side": crop(0.05, 0.05, 0.05, 0.05),
    "10 % of each side": crop(0.1, 0.1, 0.1, 0.1),
    "12 % of one side": crop(0.12, 0, 0, 0),
    "an uneven crop": crop(0.02, 0.08, 0.07, 0.01),
    "a white border": frame(0.05, 0.05, "white"),
    "black bars": frame(0, 0.1, "black"),
    "a bar on top": bar,
}


def compare(
    folder: Path, *images: Image.Image, rule: ImageRule | None = None, against: tuple[str, ...] = ()
) -> DuplicateReport:
    folder.mkdir()
    rows = []
    for number, image in enumerate(images):
        (folder / f"{number}.jpg").write_bytes(jpeg(image, 85))
        rows.append({"index": str(number), "question": "What is it?", "image": f"{number}.jpg"})
    data = folder / "data.jsonl"
    data.write_text("".join(json.dumps(row) + "\n" for row in rows))
    settings = DuplicateSettings(rule or ImageRule(), against=against)
    return find_duplicates(data, settings, processes=1).report


def scenes(count: int) -> list[Image.Image]:
    return [draw_scene(seed).resize((400, 300)) for seed in range(count)]


def test_cropped_and_framed_copies_are_found_and_nothing_else(tmp_path: Path) -> None:
    originals = scenes(len(CHANGES))
    changed = [change(image) for change, image in zip(CHANGES.values(), originals, strict=True)]
    report = compare(tmp_path / "data", *originals, *changed)
    count = len(CHANGES)
    found = {(pair.left, pair.right) for pair in report.duplicates}
    assert found == {(str(place), str(place + count)) for place in range(count)}
    overlaps = [pair.image for pair in report.duplicates if pair.image and pair.image.how == "overlap"]
    assert len(overlaps) >= count - 1
    for match in overlaps:
        assert match.points is not None
        assert match.points >= 30
        assert match.share is not None
        assert 0.5 <= match.share <= 1
    # The control: the same pictures without the second stage.
    without = compare(tmp_path / "without", *originals, *changed, rule=ImageRule(crops=False))
    assert len(without.duplicates) <= 1


def test_a_crop_of_another_benchmark_is_found(tmp_path: Path) -> None:
    first, second = scenes(2)
    compare(tmp_path / "theirs", first)
    theirs = str(tmp_path / "theirs" / "data.jsonl")
    cut = CHANGES["10 % of each side"](first)
    report = compare(tmp_path / "ours", cut, second, against=(theirs,))
    [match] = report.against[0].matches
    assert (match.item, match.other) == ("0", "0")
    assert match.image is not None
    assert match.image.how == "overlap"


def test_a_folder_of_images_is_data_without_questions(tmp_path: Path, capsys) -> None:
    images = tmp_path / "pictures"
    (images / "album").mkdir(parents=True)
    first, second = scenes(2)
    (images / "a.jpg").write_bytes(jpeg(first))
    (images / "b.jpg").write_bytes(jpeg(second))
    (images / "album" / "a2.jpg").write_bytes(jpeg(CHANGES["5 % of each side"](first)))
    out = tmp_path / "out"
    assert main(["curate", "duplicates", str(images), "--out", str(out), "--drop"]) == 0
    assert json.loads((out / "duplicates.json").read_text())["excluded"] == ["album/a2.jpg"]
    items = [json.loads(line) for line in (out / "items.jsonl").read_text().splitlines()]
    assert [item["index"] for item in items] == ["a.jpg", "b.jpg"]
    assert main(["curate", "statistics", str(images), "--json"]) == 0
    queue = tmp_path / "review"
    command = ["curate", "review", str(images), "--items", "all", "--export", "queue", "--out", str(queue)]
    assert main(command) == 1
    assert len((queue / "queue.jsonl").read_text().splitlines()) >= 3
    (tmp_path / "empty").mkdir()
    capsys.readouterr()
    assert main(["curate", "statistics", str(tmp_path / "empty")]) == 2
    assert "holds no data" in capsys.readouterr().err


def test_images_that_share_a_frame_or_a_word_are_not_copies(tmp_path: Path) -> None:
    def word(text: str, ground: str, place: int) -> Image.Image:
        image = Image.new("RGB", (400, 300), ground)
        ImageDraw.Draw(image).text((place, 100), text, fill="darkred", font_size=110)
        return image

    def logo(image: Image.Image) -> Image.Image:
        framed = frame(0.05, 0.1, "white")(image)
        ImageDraw.Draw(framed).text((20, 4), "A MAGAZINE 2024", fill="black", font_size=28)
        return framed

    images = [logo(image) for image in scenes(4)]
    images += [word("cat", "#ffeedd", 60), word("cat", "#e8efe4", 80), word("car", "#fff", 70)]
    report = compare(tmp_path / "data", *images)
    assert report.image_pairs == ()


def test_mirrored_image_with_another_key_is_not_a_contradiction(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    folder.mkdir()
    image = draw_scene(1)
    (folder / "a.png").write_bytes(png(image))
    (folder / "b.png").write_bytes(png(ImageOps.mirror(image)))
    question = {"question": "On which side is the star?", "A": "left", "B": "right"}
    rows = [
        {**question, "index": name, "answer": key, "image": f"{name}.png"} for name, key in (("a", "A"), ("b", "B"))
    ]
    (folder / "data.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    report = find_duplicates(folder / "data.jsonl", processes=1).report
    assert [pair.match.how for pair in report.image_pairs] == ["turned"]
    assert not report.contradictions
    assert not report.duplicates


def test_small_copies_are_cut_as_the_images_are() -> None:
    image = scenes(1)[0]
    copies = small_copy(image)[None]
    assert np.array_equal(cut_copies(copies, WHOLE), copies)
    for box in (BOXES[3], Part(0.1, 0, 1, 1)):
        cut = crop(box.left, box.top, 1 - box.right, 1 - box.bottom)(image)
        difference = cut_copies(copies, box)[0].astype(int) - small_copy(cut).astype(int)
        assert np.abs(difference).mean() < 5


def test_letters_on_plain_ground_are_plain_and_scenes_are_not() -> None:
    letters = Image.new("RGB", (400, 300), "#ffeedd")
    ImageDraw.Draw(letters).text((60, 100), "cat", fill="darkred", font_size=110)
    copies = np.stack([small_copy(letters), *map(small_copy, scenes(3))])
    assert is_plain(copies).tolist() == [True, False, False, False]
