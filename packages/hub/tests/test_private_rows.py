"""Before a reveal no private answer changes anything of a score, whichever benchmark a board is of:
scored with other answers to its private questions, the public part gives the same bytes."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest
from test_intake_matrix import FILES, SAMPLE, WITHOUT_ANSWERS, host, spec_of, write_replies

from snellen.core.errors import SnellenError
from snellen_hub.benchmark_data import Protocol, open_hosted
from snellen_hub.config import ScoringLimits
from snellen_hub.jobs.scoring_process import ScoringTask, score_in_process

Rows = list[dict[str, Any]]
ONE_QUESTION = {"mmcr.tsv", "tempcompass@task=captioning.tsv", "vcr-wiki@lang=zh.tsv"}
SAME_GOLDS = {
    *("chartmimic.jsonl", "cmmmu.tsv", "llava-bench.tsv", "mlvu.tsv", "mm-ifeval.tsv", "mm-mt-bench.tsv"),
    *("mm-vet.tsv", "mmbench.tsv", "mmdu.tsv", "mmmu.tsv", "motionbench.jsonl", "mtl-mmbench.tsv", "naturalbench.tsv"),
    *("phyx.tsv", "puzzlevqa.tsv", "q-bench-video.tsv", "q-bench-video@part=open.tsv", "r-bench.tsv", "scam.tsv"),
    *("tvbench.jsonl", "videommmu.jsonl", "vsi-bench.jsonl", "wemath.tsv"),
    *("eyechart-places.tsv", "eyechart-places@task=count.tsv", "eyechart-places@task=labels.tsv"),
    "eyechart-places@task=point.tsv",
}
"""Their few rows have no other answer that fits a private question."""
CHECKED = [path for path in FILES if path.name not in WITHOUT_ANSWERS | ONE_QUESTION | SAME_GOLDS]


def read_rows(path: Path) -> Rows:
    if path.suffix == ".tsv":
        return list(csv.DictReader(io.StringIO(path.read_text()), delimiter="\t"))
    return [json.loads(line) for line in path.read_text().splitlines()]


def write_rows(rows: Rows, path: Path) -> Path:
    if path.suffix == ".tsv":
        with path.open("w", newline="") as file:
            writer = csv.DictWriter(file, list(rows[0]), delimiter="\t", lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows)
    else:
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def golds(path: Path, spec: str) -> dict[str, tuple[str, ...]]:
    benchmark = open_hosted(spec, Protocol(), path)
    return {sample.id: tuple(sample.gold) for sample in benchmark.samples(benchmark.open())}


def with_other_golds(path: Path, public: Sequence[bool], folder: Path) -> Iterator[Path]:
    """The data with a cell of each private row replaced by that of the next row, for every column
    that then has other answers there and the same elsewhere; and with all cells but the first, since
    answers may stand in several. Rows that are of another part of the benchmark are left out."""
    spec, rows = spec_of(path), read_rows(path)
    own = golds(path, spec)
    if len(rows) != len(own):
        rows = [row for row in rows if str(row.get("index")) in own]
    if len(rows) != len(own):
        return
    columns = list(rows[0])
    for place, moving in enumerate([*([column] for column in columns), columns[1:]]):
        moved = [
            row if shown else row | {column: rows[(number + 1) % len(rows)].get(column) for column in moving}
            for number, (row, shown) in enumerate(zip(rows, public, strict=True))
        ]
        (folder / str(place)).mkdir()
        try:
            other = golds(write_rows(moved, folder / str(place) / path.name), spec)
        except (SnellenError, ValueError):
            continue
        kept = other.keys() == own.keys() and all(
            other[name] == own[name] for name, shown in zip(own, public, strict=True) if shown
        )
        if kept and other != own:
            yield folder / str(place) / path.name


@pytest.mark.attack(
    "the private answers of a hidden board are others, for a board of every registered benchmark",
    "the score of the public part, its notices and the scores of its questions are the same bytes",
)
@pytest.mark.parametrize(
    "path",
    [pytest.param(path, id=path.stem, marks=() if path.name in SAMPLE else pytest.mark.release) for path in CHECKED],
)
def test_private_answers_change_nothing_of_a_public_score(path: Path, tmp_path: Path) -> None:
    replies = write_replies(host(path, tmp_path), tmp_path / "own.jsonl").read_bytes()
    names = list(golds(path, spec_of(path)))
    public = [number == 0 or (number >= 4 and number % 2 == 0) for number in range(len(names))]
    shown = tuple(name for name, is_shown in zip(names, public, strict=True) if is_shown)

    def score(data: Path) -> bytes:
        (data.parent / "own.jsonl").write_bytes(replies)
        task = ScoringTask(spec_of(path), Protocol(), data.name, "own.jsonl", "m", ids=shown)
        return msgspec.json.encode(score_in_process(data.parent, task, ScoringLimits(), lambda: False))

    (tmp_path / "first").mkdir()
    said = score(write_rows(read_rows(path), tmp_path / "first" / path.name))
    others = list(with_other_golds(path, public, tmp_path))
    assert others, "no other answer fits"
    for other in others:
        assert score(other) == said, other.parent.name
