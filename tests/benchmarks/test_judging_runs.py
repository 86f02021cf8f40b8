"""Runs with judges, through the engine and the store; small files in the published columns."""

from __future__ import annotations

import base64
import csv
import io
import json
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

import pytest
from PIL import Image

from snellen import evaluate, score
from snellen.cli import main
from snellen.core.benchmark import Variant
from snellen.core.errors import UsageError
from snellen.core.model import Capabilities, Identity
from snellen.core.output import Failure, Output
from snellen.core.request import Request


class Fixed:
    """A model that says the same to all, and counts."""

    capabilities = Capabilities()

    def __init__(self, name: str, reply: str | Failure) -> None:
        self.identity = Identity("test", name)
        self.reply, self.asked = reply, 0

    def answer(self, request: Request) -> str | Output:
        self.asked += 1
        return self.reply


def picture(colour: str) -> str:
    out = io.BytesIO()
    Image.new("RGB", (8, 8), colour).save(out, "PNG")
    return base64.b64encode(out.getvalue()).decode()


RED, BLUE = picture("red"), picture("blue")


def written(path: Path, rows: Sequence[Mapping[str, str]]) -> Path:
    with path.open("w", newline="") as stream:
        writer = csv.DictWriter(stream, list(rows[0]), delimiter="\t")
        writer.writeheader()
        writer.writerows(rows)
    return path


LAYOUTS = Path(__file__).parent / "layouts"
JUDGED = ("mm-vet", "llava-bench", "mmdu", "mathvista", "mathvision", "mathverse", "dynamath", "wemath", "logicvista")


def rows_of(name: str) -> list[dict[str, str]]:
    with (LAYOUTS / f"{name}.tsv").open(newline="") as stream:
        return list(csv.DictReader(stream, delimiter="\t"))


FILES = {name: rows_of(name) for name in JUDGED}
PERFECT: dict[str, str] = {
    name: json.loads((LAYOUTS / f"{name}.roles.json").read_text())["judge"]["gold"]
    for name in ("mm-vet", "llava-bench", "mmdu")
}


@pytest.fixture(params=FILES)
def file(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[str, Path]:
    return request.param, written(tmp_path / f"{request.param}.tsv", FILES[request.param])


def test_published_columns_run_end_to_end(file: tuple[str, Path], tmp_path: Path) -> None:
    name, data = file
    judge = Fixed("judge", PERFECT.get(name, "Z"))
    (run,) = evaluate(
        [Fixed("model", "a reply")], [name], variant=Variant(data=str(data)), judges=[judge], out=tmp_path / "out"
    ).runs
    assert run.info.status == "complete"
    report = run.report()
    assert report.summary.total == len(FILES[name])
    assert "judge" in run.info.config.roles
    assert any(key.startswith("rubric_") for key in run.info.config.parameters)
    if name in PERFECT:
        assert report.summary.headline.value == 100.0
    assert (run.path / "report.html").is_file()


@pytest.mark.parametrize("name", sorted(FILES.keys() - PERFECT.keys()))
def test_gold_replies_score_full(name: str, tmp_path: Path) -> None:
    """By rules alone, where there is a score without a judge."""
    data = written(tmp_path / f"{name}.tsv", FILES[name])
    replies = written(
        tmp_path / "gold.tsv",
        [{"index": row["index"], "prediction": row.get("answer_option") or row["answer"]} for row in FILES[name]],
    )
    summary = score(name, replies, data=data).summary
    assert summary.headline.value == 100.0
    blank = [{"index": row["index"], "prediction": " "} for row in FILES[name]]
    empty = score(name, written(tmp_path / "blank.tsv", blank), data=data).summary
    assert empty.headline.value == 0.0


def test_another_judge_asks_only_the_judge(tmp_path: Path) -> None:
    data = written(tmp_path / "mm-vet.tsv", FILES["mm-vet"])
    model, one, two = Fixed("model", "-1"), Fixed("one", "0.2"), Fixed("two", "0.8")
    variant = Variant(data=str(data))

    def graded_by(*judges: Fixed) -> float | None:
        (run,) = evaluate([model], ["mm-vet"], variant=variant, judges=judges, out=tmp_path / "out", html=False).runs
        return run.report().summary.headline.value

    assert graded_by() is None
    first = model.asked
    assert first > 0
    assert graded_by(one) == pytest.approx(20)
    # One request before the run finds a dead judge; equal questions are sent once.
    assert (model.asked, one.asked) == (first, 2)
    assert graded_by(two) == pytest.approx(80)
    assert (model.asked, one.asked, two.asked) == (first, 2, 2)
    assert graded_by(one, two) == pytest.approx(50)
    assert (model.asked, one.asked, two.asked) == (first, 3, 3)


def test_a_dead_judge_is_found_before_anything_is_asked(tmp_path: Path) -> None:
    data = written(tmp_path / "mm-vet.tsv", FILES["mm-vet"])
    model = Fixed("model", "-1")
    with pytest.raises(UsageError, match="the judge dead does not answer: no key; nothing was"):
        evaluate(
            [model],
            ["mm-vet"],
            variant=Variant(data=str(data)),
            judges=[Fixed("dead", Failure("authentication", "no key"))],
            out=tmp_path / "out",
        )
    assert model.asked == 0


def test_judge_is_not_recorded_in_runs_that_ask_none(tmp_path: Path) -> None:
    file = written(tmp_path / "choice.tsv", [{"index": "1", "question": "?", "A": "x", "B": "y", "answer": "A"}])
    judge = Fixed("judge", "5")
    run = partial(evaluate, [Fixed("model", "A")], judges=[judge], out=tmp_path / "out", html=False)
    with pytest.raises(UsageError, match="no question of scienceqa is graded by a judge"):
        run(["scienceqa"], variant=Variant(data=str(file)))
    graded = written(tmp_path / "open.tsv", [{"index": "1", "question": "?", "answer": "left"}])
    runs = run(["eyechart", str(graded)], limit=1).runs
    assert [set(one.info.config.roles) for one in runs] == [set(), {"judge"}]


def test_the_command_says_at_once_that_a_judge_is_needed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    written(tmp_path / "vet.tsv", FILES["mm-vet"])
    code = main(["run", "-m", "random", "-b", "mm-vet", "--data", "vet.tsv", "-q"])
    said = capsys.readouterr()
    assert code == 0
    assert "mm-vet: is graded by a judge, and none is given" in said.err
    assert "--judge" in said.err


def test_recorded_predictions_are_graded_by_a_model(tmp_path: Path) -> None:
    data = written(tmp_path / "mm-vet.tsv", FILES["mm-vet"])
    replies = [{"index": row["index"], "prediction": f"-{row['index']}"} for row in FILES["mm-vet"]]
    file = written(tmp_path / "replies.tsv", replies)
    judge = Fixed("judge", "0.4")
    for _ in range(2):
        scored = score("mm-vet", file, data=data, judges=[judge], store=tmp_path / "store.sqlite")
        assert scored.summary.headline.value == pytest.approx(40)
    # Two verdicts, kept in the store; and one request each time to see that the judge is there.
    assert judge.asked == 4


def test_a_column_that_is_not_there(tmp_path: Path) -> None:
    data = written(tmp_path / "mm-vet.tsv", FILES["mm-vet"])
    replies = [{"index": row["index"], "prediction": "-1"} for row in FILES["mm-vet"]]
    file = written(tmp_path / "replies.tsv", replies)
    with pytest.raises(UsageError, match="unknown column 'grades'"):
        score("mm-vet", file, data=data, judges=["column:grades"])
