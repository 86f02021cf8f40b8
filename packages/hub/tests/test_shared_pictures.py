"""Questions that share a picture count together in the intervals of a hub, as in those of
`snellen score` on the same data, although its workers have no pictures."""

from __future__ import annotations

import base64
import io
import json
import random
from collections.abc import Callable
from pathlib import Path

import pyarrow
import pyarrow.parquet
import pytest
from PIL import Image
from test_intake_matrix import by_hub, by_score, host, numbers
from test_kept_back_answers import command

from snellen.core.summary import Interval
from snellen.stats.intervals import wilson
from snellen_hub.benchmark_data import Protocol, scoring_file
from snellen_hub.database.tables import HostedBenchmark
from snellen_hub.jobs.scoring_process import ScoringTask, _score

PICTURES, EACH = 40, 5
RIGHT = 25
"""Pictures of which all questions are answered right."""
MODELS = 400


def picture(number: int) -> bytes:
    file = io.BytesIO()
    Image.new("RGB", (12, 12), (number % 8 * 30, number // 8 * 30, 120)).save(file, "PNG")
    return file.getvalue()


def question_rows() -> list[dict[str, str]]:
    return [
        {
            "index": str(n),
            "question": f"What is {n}?",
            "A": "one",
            "B": "two",
            "C": "three",
            "answer": "ABC"[n % 3],
            "category": "even" if n % 2 == 0 else "odd",
        }
        for n in range(PICTURES * EACH)
    ]


def embedded(number: int) -> str:
    return base64.b64encode(picture(number // EACH)).decode()


def write_tsv(path: Path, cell: Callable[[int], str], column: str) -> Path:
    rows = [row | {column: cell(n)} for n, row in enumerate(question_rows())]
    lines = ["\t".join(rows[0]), *("\t".join(row.values()) for row in rows)]
    path.write_text("\n".join(lines) + "\n")
    return path


def tsv(folder: Path) -> Path:
    return write_tsv(folder / "own.tsv", embedded, "image")


def tsv_of_references(folder: Path) -> Path:
    """All but the first row about a picture name that row, as VLMEvalKit's files do."""
    return write_tsv(folder / "own.tsv", lambda n: str(n // EACH * EACH) if n % EACH else embedded(n), "image")


def json_lines_of_files(folder: Path) -> Path:
    """Each question has a file of its own, of which those about one picture are equal."""
    for n in range(PICTURES * EACH):
        (folder / f"{n}.png").write_bytes(picture(n // EACH))
    path = folder / "own.jsonl"
    rows = [row | {"image_path": [f"{n}.png"]} for n, row in enumerate(question_rows())]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def parquet(folder: Path) -> Path:
    rows = [row | {"image": {"bytes": picture(n // EACH), "path": f"{n}.png"}} for n, row in enumerate(question_rows())]
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(rows), folder / "own.parquet")
    return folder / "own.parquet"


def write_replies(path: Path) -> Path:
    """Every question about a picture is answered alike: as far from independent as can be."""
    rows = [
        {"index": row["index"], "prediction": row["answer"] if n // EACH < RIGHT else "ABC"[(n + 1) % 3]}
        for n, row in enumerate(question_rows())
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def width(interval: Interval) -> float:
    return interval.high - interval.low


@pytest.mark.parametrize("write", [tsv, tsv_of_references, json_lines_of_files, parquet])
@pytest.mark.parametrize("is_hidden", [False, True], ids=["open", "hidden"])
def test_the_interval_is_that_of_score(
    write: Callable[[Path], Path], is_hidden: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = tmp_path / "data"
    data.mkdir()
    hosted = host(write(data), tmp_path, "", is_hidden=is_hidden)
    replies = write_replies(tmp_path / "replies.jsonl")
    work = tmp_path / "work"
    work.mkdir()
    monkeypatch.chdir(work)
    found = by_hub(hosted, replies.name, replies.read_bytes(), work)
    assert found == by_score(hosted, replies)
    # The control: questions that are taken as independent have an interval of half the width.
    value, count, interval, _ = found
    independent = wilson(value / 100 * count, count)
    assert width(interval) > 2 * 100 * width(independent)
    if is_hidden:
        assert picture(0)[:16] not in hosted.storage.get(hosted.stored.columns["data"])


def test_questions_whose_answers_were_kept_back_keep_their_pictures_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = tsv(tmp_path)
    command(
        "curate",
        "publish",
        data,
        "--out",
        tmp_path / "public",
        "--name",
        "Signs",
        "--hold-out",
        "0.5",
        "--seal-key",
        tmp_path / "key",
        "--facts",
        "licence=CC-BY-4.0",
        "--private",
        tmp_path / "private",
        code=1,
    )
    sealed = tmp_path / "private" / "answers.sealed"
    hosted = host(tmp_path / "public", tmp_path, "", answers=sealed, seal_key=tmp_path / "key")
    held = {question.rows[0] for question in hosted.questions}
    lines = data.read_text().splitlines()
    part = tmp_path / "part.tsv"
    part.write_text("\n".join([lines[0], *(one for one in lines if one.split("\t")[0] in held)]))
    replies = write_replies(tmp_path / "all.jsonl").read_text().splitlines()
    file = tmp_path / "replies.jsonl"
    file.write_text("\n".join(one for one in replies if json.loads(one)["index"] in held))
    work = tmp_path / "work"
    work.mkdir()
    monkeypatch.chdir(work)
    found = by_hub(hosted, file.name, file.read_bytes(), work)
    assert found == by_score(hosted._replace(data=part), file)


@pytest.mark.release
def test_intervals_cover_the_share_that_a_model_would_reach_on_more_pictures(tmp_path: Path) -> None:
    """400 models that answer 70 % right, some pictures easier than others: 0.3 is the correlation
    of the replies about one picture. Taken as independent, the same replies are not covered."""
    hosted = host(tsv(tmp_path), tmp_path, "", is_hidden=True)
    data = scoring_file(hosted.storage, HostedBenchmark(**hosted.stored.columns), tmp_path)
    task = ScoringTask("", Protocol(), data.name, "replies.jsonl", "m")
    draw = random.Random(20)
    covered, control = 0, 0
    for _ in range(MODELS):
        shares = [draw.betavariate(0.7 * 7 / 3, 0.3 * 7 / 3) for _ in range(PICTURES)]
        rows = [
            {"index": row["index"], "prediction": row["answer"] if draw.random() < shares[n // EACH] else "no idea"}
            for n, row in enumerate(question_rows())
        ]
        (tmp_path / task.predictions).write_text("".join(json.dumps(row) + "\n" for row in rows))
        value, count, interval, _ = numbers(_score(tmp_path, task))
        independent = wilson(value / 100 * count, count)
        covered += interval.low <= 70 <= interval.high
        control += independent.low <= 0.7 <= independent.high
    print(f"covered {covered / MODELS:.3f}, taken as independent {control / MODELS:.3f}")
    assert covered / MODELS >= 0.93
    assert control / MODELS < 0.85
