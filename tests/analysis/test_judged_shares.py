"""Shares by a judge, corrected by people's labels of a part."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typed import said

from snellen.analysis.findings.judged_shares import judged_share
from snellen.analysis.samples.error_samples import ErrorLabel, ErrorLabels, write_error_labels


def test_a_judge_that_errs_more_is_corrected_more() -> None:
    """Where the raw share is far off, the corrected one is not: 100 of 400 have the property."""
    keys = [("run", str(number)) for number in range(400)]
    real = {key: number < 100 for number, key in enumerate(keys)}
    verdicts = {key: value != (number % 4 == 0) for number, (key, value) in enumerate(real.items())}
    assert sum(verdicts.values()) / 400 == pytest.approx(0.375)
    labels = {key: real[key] for number, key in enumerate(keys) if number % 5 == 0}
    found = judged_share(verdicts, labels)
    assert found.corrected is not None
    assert found.corrected.interval.low <= 0.25 <= found.corrected.interval.high
    assert found.corrected.share == pytest.approx(0.25, abs=0.02)


def test_types_of_error_are_corrected_by_the_same_means(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A judge that calls every third reasoning error a perception error; a person labels half."""
    real = ["reasoning" if number < 60 else "perception" for number in range(100)]
    told = ["perception" if number % 3 == 0 else kind for number, kind in enumerate(real)]
    judge, mine = tmp_path / "errors.judge.json", tmp_path / "mine.json"
    for path, kinds, step in ((judge, told, 1), (mine, real, 2)):
        samples = tuple(
            ErrorLabel("run", str(number), "model", "task", (kinds[number],))  # type: ignore[arg-type]
            for number in range(0, 100, step)
        )
        write_error_labels(ErrorLabels(samples, path.name), path)
    code, out, err = said(capsys, "analyse", "errors", str(judge), "--labels", str(mine), "--json")
    assert (code, err) == (0, "")
    rows = {row["type of error"]: row for row in json.loads(out)["tables"][0]["rows"]}
    found = rows["reasoning error"]
    assert (found["judge says"], found["of"], found["missed"]) == (40, 100, "10 of 30")
    assert found["corrected"] == pytest.approx(0.6, abs=0.02)
    assert found["confirmed"] == "20 of 20"
    assert rows["refuse to answer"]["corrected"] == 0.0
    write_error_labels(ErrorLabels((ErrorLabel("x", "1", labels=("refusal",)),)), mine)
    code, out, err = said(capsys, "analyse", "errors", str(judge), "--labels", str(mine))
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert "no sample in common" in err


def test_judged_shares_are_weighted_by_wrong_answers_of_subtasks(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """900 wrong answers by reasoning in one subtask, 100 by perception in the other; the judge saw
    50 of each, and a person half of these."""
    judge, mine = tmp_path / "errors.judge.json", tmp_path / "mine.json"
    for path, step in ((judge, 1), (mine, 2)):
        samples = tuple(
            ErrorLabel(
                "run",
                str(number),
                "model",
                "ab"[number // 50],
                ("perception" if (number < 50) == (step + number % 10 == 1) else "reasoning",),
                wrong=(900, 100)[number // 50],
            )
            for number in range(0, 100, step)
        )
        write_error_labels(ErrorLabels(samples, path.name), path)
    code, out, err = said(capsys, "analyse", "errors", str(judge), "--labels", str(mine), "--json")
    assert (code, err) == (0, "")
    rows = {row["type of error"]: row for row in json.loads(out)["tables"][0]["rows"]}
    found = rows["reasoning error"]
    assert (found["judge says"], found["of"]) == (50, 100)
    assert found["corrected"] == pytest.approx(0.9, abs=0.03)
    assert found["95 % interval"][0] <= 0.9 <= found["95 % interval"][1]
