"""Hostile tables, archives and pictures: one sentence and exit code 2, or a failed question."""

from __future__ import annotations

import gzip
import json
import re
import time
from pathlib import Path
from typing import Any

import hostile
import pytest

from snellen.cli import main
from snellen.core import limits
from snellen.core.errors import DataError, MediaError, StorageError, UsageError
from snellen.core.media import check_image, decode_image
from snellen.data.predictions import read_predictions
from snellen.data.tables import unpack
from snellen.data.tables.open_table import open_table
from snellen.data.tables.seed_json import open_seed_json
from snellen.settings import Settings, max_image_pixels

RUN = ("run", "-m", "random", "--out", "o", "-q", "-b")


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with an empty cache, and limits that small files can break."""
    monkeypatch.chdir(tmp_path)
    for name, value in {**hostile.TIGHT, "SNELLEN_CACHE": str(tmp_path / "cache")}.items():
        monkeypatch.setenv(name, value)
    return tmp_path


def left_over(cache: Path) -> list[Path]:
    """What a failed reading left in the cache, but locks."""
    places = [path for name in ("unpacked", "index") for path in (cache / name).rglob("*")]
    return [path for path in places if path.is_file() and path.suffix != ".lock"]


def check_one_sentence(capsys: Any, code: int, pattern: str) -> None:
    told = capsys.readouterr()
    lines = told.err.strip().splitlines()
    assert code == 2
    assert len(lines) == 1
    assert lines[0].startswith("snellen: ")
    assert re.search(pattern, lines[0]), lines[0]


@pytest.mark.parametrize("one", hostile.TABLES, ids=lambda one: one.name)
def test_a_hostile_table_is_one_sentence(here: Path, capsys: Any, one: hostile.Hostile) -> None:
    hostile.write(one, here)
    check_one_sentence(capsys, main([*RUN, one.name]), one.says)
    assert left_over(here / "cache") == []


PREDICTIONS = [one for one in hostile.TABLES if not one.name.endswith(".toml")]


@pytest.mark.parametrize("one", PREDICTIONS, ids=lambda one: one.name)
def test_hostile_predictions_give_one_sentence(here: Path, capsys: Any, one: hostile.Hostile) -> None:
    hostile.write(one, here)
    (here / "q.tsv").write_text("index\tquestion\tanswer\n1\tIs it?\tyes\n")
    code = main(["score", "q.tsv", "--predictions", one.name])
    told = capsys.readouterr().err
    assert code == 2
    assert told.startswith("snellen: ")
    assert told.count("\n") == 1


@pytest.mark.parametrize("one", hostile.ARCHIVES, ids=lambda one: one.name)
def test_a_hostile_archive_is_one_sentence(here: Path, capsys: Any, one: hostile.Hostile) -> None:
    hostile.write(one, here)
    (here / "q.tsv").write_text("index\tquestion\tanswer\n1\tIs it?\tyes\n")
    check_one_sentence(capsys, main(["score", "q.tsv", "--predictions", one.name]), one.says)


def test_half_a_surrogate_pair_is_one_character(here: Path) -> None:
    content = '{"index":"\\ud800","question":"\\udfff q","answer":"\\ud83d\\ude00","x\\ud800":1}\n'
    (here / "sur.jsonl").write_text(content)
    [row] = open_table("sur.jsonl")
    assert row.cells == {"index": "?", "question": "? q", "answer": "😀", "x?": "1"}


def test_half_a_pair_in_a_list_is_one_character(here: Path) -> None:
    cells = '1\tq\t["\\ud800a", "b"]\t[\'\\ud800.png\', \'x\']\tA\n2\tq\t{"A": "\\udfff"}\t\tA\n'
    (here / "list.tsv").write_text("index\tquestion\tchoices\timage\tanswer\n" + cells)
    first, second = open_table("list.tsv")
    assert (first.cells["A"], first.cells["B"]) == ("?a", "b")
    assert second.cells["A"] == "?"
    for medium in first.media:
        with pytest.raises(MediaError, match=r"there is no image file|neither an image nor"):
            medium.source.read()


def test_names_that_no_file_can_have(here: Path) -> None:
    long = "x" * 5000
    question = {"question_id": "1", "question": "q", "data_id": [f"{long}.mp4", f"{long}.png"]}
    (here / "seed.json").write_text(json.dumps({"questions": [question]}))
    (here / "v.tsv").write_text(f"index\tquestion\tvideo\n1\tq\t{long[:600]}.mp4\n")
    [seed] = open_seed_json("seed.json")
    [video] = open_table("v.tsv")
    for medium in (*seed.media, *video.media):
        with pytest.raises(MediaError, match=r"there is no (file|video)"):
            medium.source.read()


def test_many_columns_take_no_more_than_their_share(here: Path, monkeypatch: Any) -> None:
    monkeypatch.delenv("SNELLEN_MAX_COLUMNS")
    names, cells = (("\t".join(f"{c}{i}" for i in range(40_000))) for c in "cv")
    (here / "wide.tsv").write_text(f"index\tquestion\tanswer\t{names}\n1\tIs it?\tyes\t{cells}\n")
    began = time.process_time()
    assert len(open_table("wide.tsv").columns) == 40_003
    assert time.process_time() - began < 3


def bomb(path: Path, megabytes: int) -> None:
    with gzip.open(path, "wb", 1) as file:
        file.write(hostile.HEAD.encode())
        for _ in range(megabytes):
            file.write(bytes(1 << 20))


def test_a_gzip_bomb_is_given_up(here: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr(limits, "RATIO_FROM", 4 << 20)
    bomb(here / "bomb.tsv.gz", 20)
    with pytest.raises(DataError, match=r"more than 100 times as much.*SNELLEN_MAX_RATIO"):
        open_table("bomb.tsv.gz")
    assert left_over(here / "cache") == []
    monkeypatch.setenv("SNELLEN_MAX_RATIO", "5000")
    with pytest.raises(DataError, match="longer than 1 MB"):
        open_table("bomb.tsv.gz")
    assert left_over(here / "cache") == []
    monkeypatch.setattr(unpack, "GB", 1 << 20)
    monkeypatch.setenv("SNELLEN_MAX_UNPACKED_GB", "6")
    with pytest.raises(DataError, match=r"holds more than 6 GB; .*SNELLEN_MAX_UNPACKED_GB"):
        open_table("bomb.tsv.gz")
    assert left_over(here / "cache") == []


def test_unpacking_leaves_room_on_the_disk(here: Path, monkeypatch: Any) -> None:
    bomb(here / "q.tsv.gz", 1)
    monkeypatch.setattr(unpack, "FREE_SPACE", 1 << 60)
    with pytest.raises(StorageError, match=r"q.tsv.gz cannot be unpacked: .* GB free; make room"):
        open_table("q.tsv.gz")
    assert left_over(here / "cache") == []


@pytest.mark.parametrize("one", hostile.PICTURES, ids=lambda one: one.name)
def test_a_hostile_picture_is_a_failure(here: Path, one: hostile.Hostile) -> None:
    path = hostile.write(one, here)
    (here / "q.tsv").write_text(f"index\tquestion\timage_path\n1\tWhat?\t{path.name}\n")
    [row] = open_table("q.tsv")
    began = time.process_time()

    def checked() -> None:
        data = row.media[0].source.read()
        check_image(data, max_image_pixels())
        decode_image(data, max_image_pixels())

    with pytest.raises(MediaError, match=one.says):
        checked()
    assert time.process_time() - began < 5


def test_odd_paths_are_refused_as_images(here: Path) -> None:
    names = [*hostile.write_odd_files(here), "a\\0b.png", "x" * 300 + ".png", "../" * 50 + "x.png"]
    rows = "".join(f"{at}\tWhat?\t{name}\n" for at, name in enumerate(names))
    (here / "q.tsv").write_text("index\tquestion\timage_path\n" + rows)
    for row in open_table("q.tsv"):
        with pytest.raises(MediaError):
            row.media[0].source.read()


@pytest.mark.parametrize(
    ("allowed", "name", "fine"),
    [
        (None, "{far}/far.png", True),
        (None, "../far/far.png", True),
        ("{home}", "near.png", True),
        ("{home}", "{home}/near.png", True),
        ("{home}", "{far}/far.png", False),
        ("{home}", "../far/far.png", False),
        ("{home}", "sub/../../far/far.png", False),
        ("{home}:{far}", "{far}/far.png", True),
        ("{far}", "near.png", True),
    ],
)
def test_which_files_a_table_may_name(tmp_path: Path, allowed: str | None, name: str, fine: bool) -> None:
    places = {"home": str(tmp_path / "home"), "far": str(tmp_path / "far")}
    for place in places.values():
        Path(place, "sub").mkdir(parents=True)
        Path(place, f"{'near' if place == places['home'] else 'far'}.png").write_bytes(hostile.drawn("PNG"))
    table = tmp_path / "home" / "q.tsv"
    table.write_text(f"index\tquestion\timage_path\n1\tWhat?\t{name.format(**places)}\n")
    environment = {"SNELLEN_CACHE": str(tmp_path / "cache"), "HOME": str(tmp_path)}
    if allowed:
        environment["SNELLEN_MEDIA_FOLDERS"] = allowed.format(**places)
    settings = Settings.from_environment(environment)
    [row] = open_table(str(table), settings=settings)
    if fine:
        assert row.media[0].source.read()
    else:
        with pytest.raises(MediaError, match=r"outside the folders.*SNELLEN_MEDIA_FOLDERS"):
            row.media[0].source.read()


@pytest.mark.parametrize("column", ["image_path", "video_path"])
def test_a_table_that_was_fetched_names_files_of_its_own_folder(tmp_path: Path, column: str) -> None:
    private = tmp_path / "private.png"
    private.write_bytes(hostile.drawn("PNG"))
    home = tmp_path / "cache" / "datasets"
    home.mkdir(parents=True)
    (home / "q.tsv").write_text(f"index\tquestion\t{column}\n1\tWhat?\t{private}\n")
    settings = Settings(cache=tmp_path / "cache")
    [row] = open_table(str(home / "q.tsv"), settings=settings)
    with pytest.raises(MediaError, match="outside the folders in which this table may name"):
        row.media[0].source.read()
    more = Settings(cache=tmp_path / "cache", media_folders=(tmp_path,))
    [row] = open_table(str(home / "q.tsv"), settings=more)
    assert row.media[0].source.read()


@pytest.mark.parametrize("value", ["0", "-1", "many", "1.5", "١", "9" * 5000])
def test_a_limit_is_a_whole_number(value: str) -> None:
    with pytest.raises(UsageError, match=r"SNELLEN_MAX_COLUMNS is .*; expected a whole number"):
        Settings.from_environment({"SNELLEN_CACHE": "/x", "SNELLEN_MAX_COLUMNS": value})


def test_predictions_leave_nothing_of_a_bomb(here: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr(limits, "RATIO_FROM", 4 << 20)
    bomb(here / "bomb.csv.gz", 20)
    with pytest.raises(DataError, match="more than 100 times as much"):
        read_predictions("bomb.csv.gz")
    assert left_over(here / "cache") == []


def test_memory_that_is_not_there_is_a_sentence(here: Path, capsys: Any, monkeypatch: Any) -> None:
    def fail(*_: object) -> None:
        raise MemoryError

    (here / "q.tsv").write_text("index\tquestion\tanswer\n1\tIs it?\tyes\n")
    monkeypatch.setattr("snellen.data.tables.tsv.scan_tsv", fail)
    check_one_sentence(capsys, main([*RUN, "q.tsv"]), "not enough memory")
