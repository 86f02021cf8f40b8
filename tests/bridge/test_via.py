"""Replies to a benchmark of one's own, scored by another tool's code as well."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from snellen.bridge.via import find_task
from snellen.cli.main import main
from snellen.core.errors import UnknownName, UsageError

COLOURS = ("red", "green", "blue", "white")


def write(folder: Path, question: str = "Which colour?") -> tuple[str, str]:
    """Questions as the small tool asks them, and four replies."""
    options = dict(zip("ABCD", COLOURS, strict=True))
    rows = [{"index": f"colour {i}", "question": question, **options, "answer": "ABCD"[i]} for i in range(4)]
    replies = ["A", "The answer is B.", "D", "D"]
    said = [{"index": row["index"], "prediction": reply} for row, reply in zip(rows, replies, strict=True)]
    for name, lines in (("colours", rows), ("said", said)):
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    return str(folder / "colours.jsonl"), str(folder / "said.jsonl")


@pytest.mark.usefixtures("colours")
def test_both_numbers_stand_side_by_side(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    data, said = write(tmp_path)
    monkeypatch.chdir(tmp_path)
    assert main(["score", data, "--predictions", said, "--rule", "via:vlmevalkit/plain", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    own, theirs = (one["headline"]["value"] for one in found["rules"].values())
    assert (own, theirs) == (75.0, 50.0)
    (other,) = found["disagreements"]
    assert other["reply"] == "The answer is B."
    assert [one["correct"] for one in other["readings"].values()] == [True, False]


@pytest.mark.usefixtures("colours")
def test_a_run_is_scored_after_the_fact(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    data, said = write(tmp_path)
    monkeypatch.chdir(tmp_path)
    assert main(["score", data, "--predictions", said, "--out", "runs"]) == 0
    (run,) = (path.parent for path in Path("runs").glob("*/run.json"))
    capsys.readouterr()
    assert main(["score", str(run), "--rule", "via:vlmevalkit/plain"]) == 0
    assert "1 reply is scored differently" in capsys.readouterr().out


@pytest.mark.usefixtures("colours")
def test_ids_that_name_other_questions_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    data, said = write(tmp_path, "Which animal?")
    monkeypatch.chdir(tmp_path)
    assert main(["score", data, "--predictions", said, "--rule", "via:vlmevalkit/plain"]) == 2
    assert "4 of 4 ids name other questions" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("rule", "benchmark", "parameters", "task"),
    [
        ("via:vlmevalkit", "pope", {}, "vlmevalkit/POPE"),
        ("via:vlmevalkit:checksum=off", "mmstar", {}, "vlmevalkit/MMStar:checksum=off"),
        ("via:vlmevalkit", "seedbench", {"version": "2-plus", "protocol": "generate"}, "vlmevalkit/SEEDBench2_Plus"),
        ("via:lmms-eval/mmstar_ko", "mmstar", {}, "lmms-eval/mmstar_ko"),
    ],
)
def test_the_tools_task_is_found_by_its_name(rule: str, benchmark: str, parameters: dict[str, str], task: str) -> None:
    assert find_task(rule, benchmark, parameters) == task


def test_what_no_tool_has_is_one_sentence() -> None:
    with pytest.raises(UsageError, match="name it: --rule via:inspect/TASK"):
        find_task("via:inspect", "pope", {})
    with pytest.raises(UnknownName, match="unknown tool"):
        find_task("via:elsewhere", "pope", {})
