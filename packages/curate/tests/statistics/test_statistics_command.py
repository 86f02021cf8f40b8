"""`snellen curate statistics`: its forms, and mistakes."""

from __future__ import annotations

import csv
import io
import json
import shutil
from pathlib import Path

import pytest
from made_videos import write_video
from PIL import Image

from snellen.cli import main


def run(capsys: pytest.CaptureFixture[str], *argv: object) -> tuple[int, str, str]:
    code = main(["curate", "statistics", *map(str, argv)])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


@pytest.fixture
def questions(tmp_path: Path) -> Path:
    """Sixty choices, the longest of which is right."""
    path = tmp_path / "long.tsv"
    lines = ["index\tquestion\tA\tB\tC\tanswer\tcategory"]
    for index in range(60):
        options = ["red", "green", "blue"]
        options[index % 3] = "a very dark red"
        answer = "ABC"[index % 3]
        lines.append("\t".join([str(index), "What is it?", *options, answer, f"c{index % 2}"]))
    path.write_text("\n".join(lines) + "\n")
    return path


def test_table(capsys: pytest.CaptureFixture[str], questions: Path) -> None:
    code, out, err = run(capsys, questions)
    assert (code, err) == (1, "")
    text = " ".join(out.split())
    assert "longest: right too often, in 100.0 % of 60 questions where 33.3 % were expected" in text
    assert "! texts alone answer 100.0 % of the closed questions" in text
    assert "not evenly placed" not in text
    titles = [
        "words",
        "options",
        "items by media",
        "places of the right answer",
        "baselines on 60",
        "shortcuts: how often",
        "texts alone",
        "by category",
    ]
    assert [title for title in titles if f"\n{title}" not in out] == []


def test_json_has_every_number(capsys: pytest.CaptureFixture[str], questions: Path) -> None:
    code, out, _ = run(capsys, questions, "--json", "--limits", "probe=0")
    content = json.loads(out)
    assert code == 1
    assert (content["items"], content["probe"], content["digest"][:1].isalnum()) == (60, None, True)
    longest = next(test for test in content["shortcuts"] if test["rule"] == "longest")
    assert (longest["n"], longest["right"], longest["score"]) == (60, 60, 1.0)
    assert [group["label"] for group in content["groups"]["category"]] == ["c0", "c1"]


def test_csv_is_one_line_a_number(capsys: pytest.CaptureFixture[str], questions: Path) -> None:
    rows = list(csv.DictReader(io.StringIO(run(capsys, questions, "--format", "csv")[1])))
    by_path = {tuple(list(row.values())[:4]): row["value"] for row in rows}
    assert len(by_path) == len(rows)
    assert by_path["", "", "items", ""] == "60"
    assert by_path["", "", "words", "option.n"] == "180"
    assert by_path["", "", "shortcuts", "longest.right"] == "60"
    assert by_path["category", "c1", "items", ""] == "30"


def test_markdown_and_latex(capsys: pytest.CaptureFixture[str], questions: Path) -> None:
    markdown = run(capsys, questions, "--format", "markdown")[1]
    assert markdown.startswith("- longest: right too often")
    assert "| question | 60 | 3 | 0 | 3 |" in markdown
    latex = run(capsys, questions, "--format", "latex")[1]
    assert latex.startswith("% longest: right too often")
    assert latex.count(r"\begin{table}") == latex.count(r"\end{table}") > 5
    assert r"\toprule" in latex


def test_videos_by_their_headers(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    pytest.importorskip("av")
    write_video(tmp_path / "one.mp4", 50, fps=10, size=(64, 48))
    write_video(tmp_path / "two.mp4", 30, fps=10, size=(32, 48))
    (tmp_path / "lost.mp4").write_bytes(b"no video")
    frames = tmp_path / "folder"
    frames.mkdir()
    for index in range(4):
        Image.new("RGB", (20, 10), (index, 0, 0)).save(frames / f"{index}.png")
    asked = {"question": "What?", "answer": "x"}
    names = ("one.mp4", "one.mp4", "two.mp4", "lost.mp4", "folder")
    rows = [{"index": number, **asked, "video": name} for number, name in enumerate(names)]
    rows.append({"index": 9, **asked, "video": "one.mp4", "start": 1, "end": 3})
    path = tmp_path / "videos.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    content = json.loads(run(capsys, path, "--json")[1])
    videos = content["videos"]
    assert (videos["uses"], videos["distinct"], videos["unreadable"]) == (6, 5, 1)
    measures = videos["measures"]
    seconds = measures["seconds"]
    assert (seconds["n"], seconds["min"], seconds["max"]) == pytest.approx((3, 2, 5))
    # 50, 30, 20 of the part from 1 to 3 s, and the folder's 4
    assert measures["frames"]["mean"] == pytest.approx((50 + 30 + 20 + 4) / 4)
    assert measures["width"]["mean"] == pytest.approx((64 + 32 + 64 + 20) / 4)
    assert content["media"]["video"] == 6
    assert content["media"]["frames"] == 104
    assert content["missing"]["readable image or video"] == 1
    unread = json.loads(run(capsys, path, "--json", "--skip", "media")[1])
    assert unread["videos"]["measures"] == {}
    assert unread["media"]["frames"] is None


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["no-such-file.tsv"], "no-such-file.tsv: there is no such file"),
        (["no-such-benchmark"], "unknown benchmark 'no-such-benchmark'"),
        (["eyechart", "--group", "colour"], "unknown column 'colour'"),
        (["eyechart", "--limits", "probe=-1"], "--limits probe=-1: expected a number of questions, or 0"),
    ],
)
def test_mistakes_give_one_sentence(capsys: pytest.CaptureFixture[str], words: list[str], sentence: str) -> None:
    code, out, err = run(capsys, *words)
    assert (code, out) == (2, "")
    assert sentence in err
    assert err.count("\n") == 1


def test_unknown_flag(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        run(capsys, "eyechart", "--no-such-flag")
    assert caught.value.code == 2
    assert "--no-such-flag" in capsys.readouterr().err


def test_data_without_options_or_answers(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "bare.jsonl"
    path.write_text("".join(f'{{"index": {n}, "question": "Why {n}?"}}\n' for n in range(3)))
    code, out, _ = run(capsys, path)
    assert code == 0
    assert "without answer 3" in " ".join(out.split())
    assert "shortcuts" not in out
    assert "baselines" not in out
    content = json.loads(run(capsys, path, "--json")[1])
    assert content["options"]["counts"] == {}
    assert content["words"]["option"] is None
    assert content["baselines"]["n"] == 0


def test_a_data_set_folder(capsys: pytest.CaptureFixture[str], questions: Path, tmp_path: Path) -> None:
    folder = tmp_path / "made"
    folder.mkdir()
    heads, *lines = [line.split("\t") for line in questions.read_text().splitlines()]
    rows = [dict(zip(heads, line, strict=True)) for line in lines]
    (folder / "items.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    content = json.loads(run(capsys, folder, "--json")[1])
    assert (content["name"], content["items"]) == ("made", 60)
    shutil.rmtree(folder)


def test_findings_name_a_few_groups(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    row = {"question": "What?", "A": "a", "B": "b", "answer": "A"}
    rows = [{"index": n, **row, "category": f"c{n % 12:02}"} for n in range(12 * 30)]
    path = tmp_path / "first.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    text = " ".join(run(capsys, path)[1].split())
    assert "! the right answers are not evenly placed (p < 0.0001): A 360 of 180.0 expected" in text
    assert "category c00, c01, c02, c03, c04, c05, c06, c07 and 4 more" in text
