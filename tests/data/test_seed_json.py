"""SEED-Bench's official question files."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from snellen.core.errors import DataError, MediaError
from snellen.data.tables.derived import DerivedTable
from snellen.data.tables.seed_json import IMAGE_OPTIONS, is_seed_json, open_seed_json

PLAIN = {
    "question_id": "5_0",
    "question": "How many towels?",
    "choice_a": "One",
    "choice_b": "Two",
    "choice_c": "Three",
    "choice_d": "Four",
    "answer": "A",
    "question_type_id": 5,
    "data_type": "image",
    "data_id": "145_26",
}


def table(home: Path, *questions: dict[str, object], types: object = None) -> DerivedTable:
    path = home / "seed.json"
    path.write_text(json.dumps({"questions": questions, "question_type": types or {}}))
    return open_seed_json(str(path))


def test_a_row_in_the_common_layout(tmp_path: Path) -> None:
    (row,) = table(tmp_path, PLAIN, types={"Instances Counting": 5})
    assert row.cells["index"] == "5_0"
    assert [row.cells[letter] for letter in "ABCD"] == ["One", "Two", "Three", "Four"]
    assert (row.cells["answer"], row.cells["category"]) == ("A", "Instances Counting")
    assert IMAGE_OPTIONS not in row.cells


@pytest.mark.parametrize(
    "place", ["145_26", "SEED-Bench-image/145_26", "cc3m-image/145_26.jpg", "SEED-Bench-image/145_26.png"]
)
def test_pictures_are_found_in_the_archives_folders(tmp_path: Path, place: str) -> None:
    file = tmp_path / place
    file.parent.mkdir(exist_ok=True)
    file.write_bytes(b"bytes")
    (row,) = table(tmp_path, PLAIN)
    assert row.media[0].source.read() == b"bytes"


def test_missing_image_is_reported_when_read(tmp_path: Path) -> None:
    (row,) = table(tmp_path, PLAIN)
    with pytest.raises(MediaError, match=r"question 1: there is no file '145_26' .* unpack"):
        row.media[0].source.read()


@pytest.mark.parametrize("mark", ["<img>", "[img]"])
def test_places_of_pictures(tmp_path: Path, mark: str) -> None:
    (row,) = table(tmp_path, PLAIN | {"question": f"{mark}: blue. {mark}:"})
    assert row.cells["question"] == "<image>: blue. <image>:"


@pytest.mark.parametrize("frames", [3, 8, 40])
def test_a_video_comes_as_at_most_eight_frames_in_natural_order(tmp_path: Path, frames: int) -> None:
    folder = tmp_path / "video" / "P03" / "P03_24"
    folder.mkdir(parents=True)
    for number in range(frames):
        (folder / f"{number}.png").write_bytes(str(number).encode())
    (row,) = table(tmp_path, PLAIN | {"data_id": "P03/P03_24.MP4"})
    shown = [int(ref.source.read()) for ref in row.media]
    assert len(shown) == min(8, frames)
    assert shown == sorted(shown)
    assert (shown[0], shown[-1]) == (0, frames - 1)
    assert {ref.kind for ref in row.media} == {"image"}


def test_a_video_without_frames_stays_a_video(tmp_path: Path) -> None:
    (tmp_path / "9.webm").write_bytes(b"video")
    (row,) = table(tmp_path, PLAIN | {"data_id": "9.webm"})
    assert [ref.kind for ref in row.media] == ["video"]


def test_options_that_are_pictures_are_counted(tmp_path: Path) -> None:
    files = ["1.jpg", "2.jpg", "3.jpg", "4.jpg"]
    drawn = PLAIN | {"data_type": "Image Generation", "data_id": ["0.jpg", *files]}
    (row,) = table(tmp_path, drawn)
    assert row.cells[IMAGE_OPTIONS] == "4"
    assert len(row.media) == 5


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "not valid JSON"),
        ("[]", "holds no questions"),
        ('{"questions": 3}', "expected SEED-Bench's question file"),
        ('{"questions": [{"question": "?"}]}', "question 1: no question_id; got the fields question"),
        ('{"questions": [{"question_id": "1"}]}', "question 1: no question; got the fields"),
    ],
)
def test_a_bad_file_is_one_sentence(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "bad.json"
    path.write_text(text)
    with pytest.raises(DataError, match=message):
        list(open_seed_json(str(path)))


def test_which_files_are_question_files(tmp_path: Path) -> None:
    table(tmp_path, PLAIN)
    other = tmp_path / "rows.json"
    other.write_text('[{"id": 1, "text": "?"}]')
    assert is_seed_json(str(tmp_path / "seed.json"))
    assert not is_seed_json(str(other))
    assert not is_seed_json(str(tmp_path / "absent.json"))
