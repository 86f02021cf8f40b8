"""Several files in one `snellen score`, and folders of lmms-eval's logs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from snellen.cli import main


def write_log(folder: Path, task: str, replies: list[str], *, model: str | None) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    date = "20261101_101010"
    path = folder / f"{date}_samples_{task}.jsonl"
    lines = [
        {
            "doc_id": number,
            "doc": {"question": f"Is {number} even?", "answer": "No" if number % 2 else "Yes"},
            "target": "No" if number % 2 else "Yes",
            "resps": [[reply]],
            "filtered_resps": [reply],
        }
        for number, reply in enumerate(replies)
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    if model is not None:
        (folder / f"{date}_results.json").write_text(json.dumps({"model_name": model}))
    return path


def printed_scores(text: str) -> dict[tuple[str, str], float]:
    return {(card["model"], card["benchmark"]): card["headline"]["value"] for card in json.loads(text)}


def test_a_folder_of_logs_is_scored_log_by_log(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_log(tmp_path / "one", "even", ["Yes", "No"], model="org/one")
    write_log(tmp_path / "one", "odd", ["No", "No"], model="org/one")
    write_log(tmp_path / "two", "even", ["No", "Yes"], model=None)
    (tmp_path / "one" / "20261101_101010_samples_notes.jsonl").write_text('{"note": 1}\n')
    assert main(["score", str(tmp_path), "--json"]) == 0
    assert printed_scores(capsys.readouterr().out) == {
        ("org/one", "even"): 100.0,
        ("org/one", "odd"): 50.0,
        ("20261101_101010_samples_even.jsonl", "even"): 0.0,
    }


def test_a_mistake_in_one_file_keeps_no_other_from_its_score(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = write_log(tmp_path, "even", ["Yes", "No"], model=None)
    bad = tmp_path / "bad.csv"
    bad.write_text("id,question\n1,?\n")
    assert main(["score", str(bad), str(log)]) == 2
    said = capsys.readouterr()
    assert "bad.csv: no column holds the replies" in said.err
    assert "100.0" in said.out


def test_predictions_of_one_benchmark_share_a_table(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = tmp_path / "q.tsv"
    data.write_text("index\tquestion\tA\tB\tanswer\n1\t?\tx\ty\tA\n2\t?\tx\ty\tB\n")
    for name, replies in {"a.csv": "AB", "b.csv": "AA"}.items():
        (tmp_path / name).write_text(f"id,prediction\n1,{replies[0]}\n2,{replies[1]}\n")
    files = [arg for name in ("a.csv", "b.csv") for arg in ("--predictions", str(tmp_path / name))]
    assert main(["score", str(data), *files]) == 0
    rows = [line.split()[:2] for line in capsys.readouterr().out.splitlines()]
    assert ["a.csv", "100.0"] in rows
    assert ["b.csv", "50.0"] in rows


@pytest.mark.parametrize(
    ("flags", "sentence"),
    [
        (["--name", "mine"], "--name goes with one file"),
        (["--rule", "all"], "--rule all goes with one file"),
        (["--predictions", "r.csv"], "--predictions are of one benchmark; got 2"),
    ],
)
def test_refuses_single_file_flags_for_several_files(
    flags: list[str], sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["score", "a.csv", "b.csv", *flags]) == 2
    assert sentence in capsys.readouterr().err
