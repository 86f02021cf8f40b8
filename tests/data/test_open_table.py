"""What `open_table` makes of rows, pictures and columns, whatever the format."""

from __future__ import annotations

import gzip
import hashlib
import json
import multiprocessing
import os
import pickle
import time
from pathlib import Path

import pytest
from drawn_pictures import b64, png

from snellen.core.errors import DataError, MediaError, StorageError, UnknownName
from snellen.core.media import digest_bytes
from snellen.core.sample import Row
from snellen.data.columns import row_gold, row_id
from snellen.data.media.sources import DataFile
from snellen.data.tables import index
from snellen.data.tables.open_table import check_unique_ids, open_table
from snellen.settings import Settings

RED, BLUE = png("red"), png("blue", 6)


def rows(path: str, settings: Settings, **columns: str) -> list[Row]:
    return list(open_table(path, columns=columns, settings=settings))


def pictures(row: Row) -> list[bytes]:
    return [ref.source.read() for ref in row.media]


def test_a_row_of_a_vlmevalkit_file(write, settings) -> None:
    text = "Index\tQuestion\tA\tB\tHint\tl2-category\tSplit\timage\n"
    text += f'7\t"two\nlines"\tnan\tno\t\tcolour\tdev\t{b64(RED)}\n'
    table = open_table(write("q.tsv", text), settings=settings)
    (row,) = table
    assert row.cells == {
        "index": "7",
        "question": "two\nlines",
        "A": "nan",
        "B": "no",
        "l2-category": "colour",
        "split": "dev",
    }
    assert (row.index, row_id(row), row_gold(row)) == (0, "7", ())
    assert table.columns[:2] == ("index", "question")
    assert pictures(row) == [RED]
    assert row.media[0].digest == digest_bytes(RED)
    assert pickle.loads(pickle.dumps(row.media[0])).source.read() == RED  # noqa: S301


@pytest.mark.parametrize(
    "cell",
    [
        f'["{b64(RED)}", "{b64(BLUE)}"]',
        f"['{b64(RED)}', '{b64(BLUE)}']",
        f"""\"['{b64(RED)}',\n '{b64(BLUE)}']\"""",
        f'"[""{b64(RED)}"", ""data:image/png;base64,{b64(BLUE)}""]"',
        '["1", "2"]',
        "[1, 2]",
        '["red.png", "blue.png"]',
        "['red.png', '2']",
    ],
)
def test_a_list_of_pictures(write, settings, cell: str) -> None:
    write("red.png", RED)
    write("images/q/blue.png", BLUE)
    text = f"index\timage\n1\t{b64(RED)}\n2\tdata:image/png;base64,{b64(BLUE)}\n3\t{cell}\n"
    found = rows(write("q.tsv", text), settings)
    assert pictures(found[2]) == [RED, BLUE]
    assert pictures(found[1]) == [BLUE]


def test_a_row_that_names_another_has_its_picture(write, settings) -> None:
    text = f"index\timage\n1\t{b64(RED)}\nx\t1.0\n3\tx\n4\t99\n5\t\n6\t5\n"
    found = rows(write("q.tsv", text), settings)
    assert pictures(found[1]) == [RED]
    assert found[4].media == ()
    problems = {
        2: "names row 'x', which names yet another",
        3: "'99' is neither an image nor the id of a row",
        5: "names row '5', which has no image",
    }
    for number, problem in problems.items():
        with pytest.raises(MediaError, match=problem):
            pictures(found[number])


@pytest.mark.parametrize(
    ("cell", "problem"),
    [
        ("A" * 99 + "!", "row 2: the image cell is not base64"),
        ("missing.jpg", "row 2: there is no image file 'missing.jpg'"),
        ("https://a.org/x.png", "row 2: images at web addresses are not fetched"),
        ("['a", r"row 2: the image cell \"\['a\" is neither an image nor the id of a row"),
    ],
)
def test_a_broken_picture_is_a_failure_of_its_row_alone(write, settings, cell, problem) -> None:
    path = write("q.tsv", f"index\timage\n1\t{b64(RED)}\n2\t{cell}\n")
    first, second = rows(path, settings)
    assert pictures(first) == [RED]
    assert second.media[0].digest == hashlib.sha256(cell.encode()).hexdigest()
    with pytest.raises(MediaError, match=problem) as caught:
        second.media[0].source.read()
    assert path in str(caught.value)


def test_image_paths_are_looked_for_in_three_places(write, tmp_path) -> None:
    write("here.png", RED)
    write("images/q/beside.png", BLUE)
    write("LMUData/images/q/there.png", png("green"))
    settings = Settings(cache=tmp_path / "cache", lmu_data=tmp_path / "LMUData")
    text = "index\timage_path\n1\there.png\n2\tbeside.png\n3\tthere.png\n"
    text += "4\t['here.png', 'beside.png']\n"
    found = rows(write("q.tsv", text), settings)
    assert [len(row.media) for row in found] == [1, 1, 1, 2]
    assert pictures(found[0]) + pictures(found[1]) == pictures(found[3])
    assert found[0].cells["image_path"] == "here.png"
    write("here.png", BLUE)
    again = rows(str(tmp_path / "q.tsv"), settings)
    assert again[0].media[0].digest == digest_bytes(BLUE)


def test_pictures_in_the_cell_win_over_paths(write, settings) -> None:
    (row,) = rows(write("q.tsv", f"image_path\timage\nx.png\t{b64(RED)}\n"), settings)
    assert pictures(row) == [RED]


def test_a_tiny_picture_is_not_taken_for_a_name(write, settings) -> None:
    gif = b"GIF89a\x01\x00\x01\x00\x00\x00\x00;" + b"\x00" * 10
    (row,) = rows(write("q.tsv", f"index\timage\n1\t{b64(gif)}\n"), settings)
    assert pictures(row) == [gif]


@pytest.mark.parametrize("seconds_ago", [0, 60])
def test_a_file_changed_after_opening_is_noticed(write, settings, seconds_ago: int) -> None:
    same_length = RED[:-1] + b"\0"
    path = write("q.tsv", f"index\timage\n1\t{b64(RED)}\n")
    _age(path, seconds_ago)
    (row,) = rows(path, settings)
    assert pictures(row) == [RED]
    write("q.tsv", f"index\timage\n1\t{b64(same_length)}\n")
    with pytest.raises(MediaError, match="row 1: the image is no longer where it was"):
        row.media[0].source.read()
    assert pictures(rows(path, settings)[0]) == [same_length]


@pytest.mark.parametrize("name", ["q.tsv", "q.tsv.gz"])
def test_a_file_of_the_same_size_and_time_is_read_anew(tmp_path, settings, name: str) -> None:
    made = time.time() - 60
    for gold in ("A", "B"):
        text = f"index\tquestion\tanswer\n1\tWhich?\t{gold}\n".encode()
        path = tmp_path / name
        path.write_bytes(gzip.compress(text, mtime=0) if name.endswith(".gz") else text)
        os.utime(path, (made, made))
        (row,) = rows(str(path), settings)
        assert row.cells["answer"] == gold


def test_unchanged_file_is_trusted_by_its_modification_time(write) -> None:
    path = write("q.tsv", "text")
    assert not DataFile.from_path(path).excerpt(1, 2).unchanged
    _age(path, 60)
    seen = DataFile.from_path(path)
    assert seen.excerpt(1, 2) == (b"ex", True)
    _age(path, 30)
    assert seen.excerpt(1, 2) == (b"ex", False)
    write("q.tsv", "longer")
    _age(path, 60)
    assert not seen.excerpt(1, 2).unchanged


def _age(path: str, seconds: int) -> None:
    changed = time.time() - seconds
    os.utime(path, (changed, changed))


@pytest.mark.parametrize("name", ["q.csv", "q.tsv.gz", "q.jsonl", "q.jsonl.gz", "q.json"])
def test_every_text_format_gives_the_same_rows(write, settings, name: str) -> None:
    records = [
        {"id": "a", "question": "1, 2?", "choices": ["x", "y"], "answer": 1, "image": b64(RED)},
        {"id": "b", "question": "3\n4?", "choices": ["x", "y"], "answer": 0, "image": b64(BLUE)},
    ]
    if name.startswith("q.json"):
        text = "\n".join(map(json.dumps, records))
        if name == "q.json":
            text = json.dumps(records, indent=1)
    else:
        sign = "," if name.endswith(".csv") else "\t"
        lines = [sign.join(["id", "question", "A", "B", "answer", "image"])]
        for r, letter in zip(records, "BA", strict=True):
            lines.append(sign.join([r["id"], f'"{r["question"]}"', "x", "y", letter, r["image"]]))
        text = "\n".join(lines)
    data = gzip.compress(text.encode()) if name.endswith(".gz") else text.encode()
    table = open_table(write(name, data), settings=settings)
    found = list(table)
    assert [row.cells for row in found] == [
        {"id": "a", "question": "1, 2?", "A": "x", "B": "y", "answer": "B"},
        {"id": "b", "question": "3\n4?", "A": "x", "B": "y", "answer": "A"},
    ]
    assert [pictures(row) for row in found] == [[RED], [BLUE]]
    assert table.digest == hashlib.sha256(text.encode()).hexdigest()
    assert sorted(table.columns) == sorted([*found[0].cells, *(["image"] if "sv" in name else [])])


def test_json_values_become_text(write, settings) -> None:
    record = {
        "pid": 3,
        "Ok": True,
        "none": None,
        "x": 1.5,
        "nan": float("nan"),
        "empty": "",
        "metadata": {"task": "VQA", "skills": ["a", "b"]},
        "answers": ["p", "q"],
        "index2ans": {"A": "one", "B": "two"},
        "choice_c": "three",
    }
    (row,) = rows(write("q.jsonl", json.dumps(record)), settings)
    assert row.cells == {
        "pid": "3",
        "ok": "true",
        "x": "1.5",
        "metadata.task": "VQA",
        "metadata.skills": '["a", "b"]',
        "answers": '["p", "q"]',
        "A": "one",
        "B": "two",
        "C": "three",
    }
    assert (row_id(row), row_gold(row)) == ("3", ("p", "q"))


@pytest.mark.parametrize(
    ("document", "ids"),
    [
        ({"x1": {"question": "?"}, "x2": {"question": "?"}}, ["x1", "x2"]),
        ({"version": 1, "questions": [{"question_id": 5}, {"question_id": 6}]}, ["5", "6"]),
        ([{"question": "?"}, {"question": "?"}], ["0", "1"]),
    ],
)
def test_json_documents(write, settings, document, ids: list[str]) -> None:
    assert [row_id(r) for r in rows(write("q.json", json.dumps(document)), settings)] == ids


def test_columns_can_be_chosen(write, settings) -> None:
    path = write("q.tsv", f"index\tuid\ttruth\tphoto\n1\tu1\tyes\t{b64(RED)}\n")
    (row,) = rows(path, settings, id="uid", gold="truth", image="photo")
    assert (row_id(row), row_gold(row), pictures(row)) == ("u1", ("yes",), [RED])
    (joined,) = rows(path, settings, id="uid+index")
    assert row_id(joined) == "u1/1"
    with pytest.raises(UnknownName, match="unknown column 'uidd'; did you mean uid"):
        rows(path, settings, id="uidd")
    lines = write("q.jsonl", json.dumps({"uid": "u1", "choices": ["x", "y"], "right": 1}))
    (row,) = rows(lines, settings, id="uid", gold="right")
    assert (row_id(row), row_gold(row)) == ("u1", ("B",))
    with pytest.raises(UnknownName, match="unknown column 'nope'"):
        rows(lines, settings, id="nope")


@pytest.mark.parametrize(
    ("name", "content", "sentence"),
    [
        ("q.txt", "x", "unknown kind of data file '.txt'"),
        ("q.jsonl", '{"a": 1}\n{"a": \n', "line 2: not valid JSON"),
        ("q.jsonl", "[1]\n", "line 1: expected a JSON object, got list"),
        ("q.jsonl", b'{"a": "\xff"}\n', "line 1: not UTF-8"),
        ("q.json", "[]", "holds no rows"),
        ("q.json", "3", "expected a list of JSON objects"),
        ("q.tsv.gz", b"\x1f\x8b\x08\x00cut", "cannot be unpacked"),
        ("q.parquet", b"PAR1 no", "cannot be read as Parquet"),
    ],
)
def test_bad_file_gives_one_sentence(write, settings, name, content, sentence) -> None:
    with pytest.raises(DataError) as caught:
        open_table(write(name, content), settings=settings)
    assert sentence in str(caught.value)
    with pytest.raises(DataError, match="there is no such file"):
        open_table("nowhere.tsv", settings=settings)


def test_two_rows_with_one_id_are_named(write, settings) -> None:
    table = open_table(write("q.tsv", "index\tq\n1\ta\n2\tb\n1.0\tc\n"), settings=settings)
    with pytest.raises(DataError, match="rows 1 and 3 have the same id '1'"):
        check_unique_ids(table)


def made(settings: Settings) -> list[Path]:
    return sorted((settings.cache / "index").glob("*.sqlite"))


def test_the_index_is_made_once(write, settings, monkeypatch) -> None:
    path = write("q.tsv", f"index\timage\n1\t{b64(RED)}\n")
    open_table(path, settings=settings)
    (file,) = made(settings)
    state = file.stat().st_mtime_ns
    assert pictures(rows(path, settings)[0]) == [RED]
    assert (made(settings), file.stat().st_mtime_ns) == ([file], state)


@pytest.mark.parametrize("damage", ["truncated", "schema", "garbage", "empty"])
def test_an_unusable_index_is_made_again(write, settings, monkeypatch, damage: str) -> None:
    many = "".join(f"{n}\t{'text ' * 40}\t{b64(RED)}\n" for n in range(50))
    path = write("q.tsv", "index\tquestion\timage\n" + many)
    open_table(path, settings=settings)
    (file,) = made(settings)
    if damage == "truncated":
        file.write_bytes(file.read_bytes()[:-4096])
    elif damage == "schema":
        monkeypatch.setattr(index, "SCHEMA", index.SCHEMA + 1)
    else:
        file.write_bytes(b"" if damage == "empty" else b"SQLite format 3\0" + b"x" * 9000)
    assert len(rows(path, settings)) == 50
    assert index._read_header(file).schema == index.SCHEMA


def _open(path: str, cache: Path, results) -> None:
    table = open_table(path, settings=Settings(cache=cache))
    results.put((len(table), table.digest))


def test_two_processes_index_at_once(write, settings) -> None:
    path = write("q.tsv.gz", gzip.compress(b"index\tq\n" + b"1\tx\n" * 20_000))
    context = multiprocessing.get_context("spawn")
    results = context.Queue()
    both = [context.Process(target=_open, args=(path, settings.cache, results)) for _ in "ab"]
    for process in both:
        process.start()
    found = [results.get(timeout=60) for _ in both]
    for process in both:
        process.join()
    assert found[0] == found[1] == (20_000, open_table(path, settings=settings).digest)
    assert len(made(settings)) == 1


def test_a_cache_that_cannot_be_written(write, settings) -> None:
    write("cache", "a file where the folder should be")
    with pytest.raises(StorageError, match="set SNELLEN_CACHE"):
        open_table(write("q.tsv", "index\tq\n1\tx\n"), settings=settings)
