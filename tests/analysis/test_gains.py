"""Runs that differ in one setting alone, and what each step of the reading reads."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from scipy import stats

from snellen.analysis.gains import gains
from snellen.analysis.reading_steps import step_rates
from snellen.api import evaluate
from snellen.cli import main
from snellen.core.answer import Found, Refused, Unparsed
from snellen.core.benchmark import Variant
from snellen.core.errors import UsageError
from snellen.core.output import Generated
from snellen.core.record import Pass, Record
from snellen.store.runs import find_runs


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """`random` answers by a lot drawn for each prompt: pictures change nothing, circular does."""
    out = tmp_path_factory.mktemp("runs")
    for control in (None, "blind"):
        evaluate(
            ["random"], ["eyechart"], out=out, html=False, limit=120,
            variant=Variant(control=control, circular="off"),
        )  # fmt: skip
    return out


def test_a_gain_is_the_paired_difference(folder: Path) -> None:
    runs = find_runs(folder)
    found = gains(runs, "control", "l2-category")
    whole, *parts = found.gains
    assert (whole.base, whole.value, whole.group, whole.n) == ("none", "blind", "", 120)
    tables = {
        run.info.config.parameters.get("control", "none"): {
            record.id: record.score for record in run.records()
        }
        for run in runs
    }
    pairs = [(tables["none"][name], tables["blind"][name]) for name in tables["none"]]
    expected = stats.ttest_rel([b for _, b in pairs], [a for a, _ in pairs])
    low, high = expected.confidence_interval()
    assert whole.difference == pytest.approx(
        100 * sum(b - a for a, b in pairs) / len(pairs)  # type: ignore[operator]
    )
    assert whole.interval is not None
    assert (whole.interval.low, whole.interval.high) == pytest.approx((100 * low, 100 * high))
    assert sum(one.n for one in parts) == 120
    assert sum(one.n * one.difference for one in parts) / 120 == pytest.approx(whole.difference)


def test_command_and_mistakes(folder: Path, tmp_path: Path, capsys) -> None:
    picture = tmp_path / "gain.svg"
    assert main(["analyse", "gain", str(folder), "--by", "control", "--json", "-o", str(picture)]) == 0
    ((row,),) = [one["rows"] for one in json.loads(capsys.readouterr().out)["tables"]]
    assert row["control"] == "none → blind"
    assert row["after"] - row["before"] == pytest.approx(row["gain"])
    assert "control=blind" in picture.read_text()
    with pytest.raises(UsageError, match="no two of the 2 runs differ in 'images' alone"):
        gains(find_runs(folder), "images")
    assert main(["analyse", "gain", str(folder), "--by", "control", "--base", "black"]) == 2
    assert "differ in 'control' alone" in capsys.readouterr().err


def read(number: int, answer: Found | Refused | Unparsed, extraction: str | None = None) -> Record:
    one = Pass((), Generated("x"), answer, extraction=Generated(extraction) if extraction else None)
    return Record(str(number), "choice", "q", "answered", 0.0, passes=(one,))


def test_steps_add_up() -> None:
    records = [
        read(1, Found("A", "bare label")),
        read(2, Found("A", "whole content")),
        read(3, Found("B", "llm"), extraction="B"),
        read(4, Unparsed(), extraction="?"),
        read(5, Refused("phrase")),
        Record("6", "yes_no", "q", "answered", 0.0),
        Record("7", "choice", "q", "failed", unscored="failed"),
    ]
    found = step_rates(records, extractor=True)
    assert (found.replies, found.read, found.refused) == (
        5, {"label": 1, "content": 2, "llm": 3}, 1,
    )  # fmt: skip
    assert found.share("llm") == 0.6
    without = step_rates(records[:2], extractor=False)
    assert (without.share("content"), without.share("llm")) == (1.0, None)
    assert step_rates([], extractor=False).share("label") is None


def test_languages_of_the_paper_tables(tmp_path: Path, capsys) -> None:
    english, chinese = tmp_path / "en.csv", tmp_path / "cn.csv"
    english.write_text("model,overall\nGPT-4v,74.3\nVisualGLM-6B,35.3\nAlone,1\n")
    chinese.write_text("model,overall\nVisualGLM-6B,38.1\nGPT-4v,72.1\n")
    assert main(["analyse", "languages", str(english), str(chinese), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    rows = told["tables"][0]["rows"]
    assert [row["model"] for row in rows] == ["VisualGLM-6B", "GPT-4v"]
    assert rows[1]["difference"] == pytest.approx(-2.2)
    assert told["notices"] == ["1 models have a score in one language alone"]
    assert main(["analyse", "languages", str(english)]) == 2
