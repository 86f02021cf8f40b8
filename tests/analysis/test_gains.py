"""Runs that differ in one setting alone, and what each step of the reading reads."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from mmt_rows import row, several, write

from snellen import evaluate
from snellen.analysis.causes.gains import gains
from snellen.analysis.findings.choices import step_rates
from snellen.cli import main
from snellen.core.benchmark import Variant
from snellen.core.errors import UsageError
from snellen.core.output import Generated, ParsedAnswer, Refused, Unparsed
from snellen.core.record import Pass, Record
from snellen.report.page.html import write_html
from snellen.stats.paired import paired_mean
from snellen.store.runs import find_runs


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """`random` answers by a lot drawn for each prompt: pictures change nothing, circular does."""
    out = tmp_path_factory.mktemp("runs")
    for control in (None, "blind"):
        evaluate(
            ["random"], ["eyechart"], out=out, html=False, limit=120, variant=Variant(control=control, circular="off")
        )
    return out


def test_a_gain_is_the_paired_difference(folder: Path) -> None:
    runs = find_runs(folder)
    whole, *parts = gains(runs, group="l2-category")
    assert (whole.setting, whole.base, whole.value, whole.group) == ("control", "none", "blind", "")
    assert (whole.n, whole.left_out) == (120, 0)
    tables = {
        run.info.config.parameters.get("control", "none"): {record.id: record for record in run.records()}
        for run in runs
    }
    pairs = [(one, tables["blind"][name]) for name, one in tables["none"].items()]
    differences = [(one.score or 0.0) - (other.score or 0.0) for one, other in pairs]
    numbers: dict[str, int] = {}
    units = [numbers.setdefault(one.unit or one.id, len(numbers)) for one, _ in pairs]
    expected = paired_mean(np.array(differences), np.array(units)).interval
    assert expected is not None
    assert whole.gain == pytest.approx(100 * sum(differences) / 120)
    assert whole.base_score - whole.score == pytest.approx(whole.gain)
    assert whole.interval is not None
    assert (whole.interval.low, whole.interval.high) == pytest.approx((100 * expected.low, 100 * expected.high))
    assert sum(one.n for one in parts) == 120
    assert sum(one.n * one.gain for one in parts) / 120 == pytest.approx(whole.gain)
    with pytest.raises(UsageError, match=r"no grouping 'nothing'; it has category, l2-category"):
        gains(runs, group="nothing")


def test_command_and_mistakes(folder: Path, tmp_path: Path, capsys) -> None:
    picture = tmp_path / "gain.svg"
    assert main(["analyse", "gains", str(folder), "--by", "control", "--json", "-o", str(picture)]) == 0
    (gain,) = json.loads(capsys.readouterr().out)["gains"]
    assert (gain["base"], gain["value"]) == ("none", "blind")
    assert gain["base_score"] - gain["score"] == pytest.approx(gain["gain"])
    assert "control=blind" in picture.read_text()
    assert main(["analyse", "gains", str(folder), "--group", "category"]) == 0
    assert "  rendered text" in capsys.readouterr().out
    assert main(["analyse", "gains", str(folder), "--by", "images"]) == 2
    assert "differ in 'images' alone" in capsys.readouterr().err
    assert main(["analyse", "gains", str(folder), "--by", "control=black"]) == 2
    assert "one of them with 'black'" in capsys.readouterr().err


def test_the_base_may_be_named_and_turns_the_sign(folder: Path) -> None:
    (plain,) = gains(find_runs(folder), "control")
    (turned,) = gains(find_runs(folder), "control", base="blind")
    assert (turned.base, turned.value) == ("blind", "none")
    assert turned.gain == pytest.approx(-plain.gain)
    assert turned.answerable is None


def read(number: int, answer: ParsedAnswer | Refused | Unparsed, extraction: str | None = None) -> Record:
    one = Pass((), Generated("x"), answer, extraction=Generated(extraction) if extraction else None)
    return Record(str(number), "choice", "q", "answered", 0.0, passes=(one,))


def test_steps_add_up() -> None:
    records = [
        read(1, ParsedAnswer("A", "bare label")),
        read(2, ParsedAnswer("A", "whole content")),
        read(3, ParsedAnswer("B", "llm"), extraction="B"),
        read(4, Unparsed(), extraction="?"),
        read(5, Refused("phrase")),
        Record("6", "yes_no", "q", "answered", 0.0),
        Record("7", "choice", "q", "failed", unscored="failed"),
    ]
    found = step_rates(records, extractor=True)
    assert (found.replies, found.read, found.refused) == (5, {"label": 1, "content": 2, "llm": 3}, 1)
    assert found.share("llm") == 0.6
    without = step_rates(records[:2], extractor=False)
    assert (without.share("content"), without.share("llm")) == (1.0, None)
    assert step_rates([], extractor=False).share("label") is None


def test_languages_of_runs(tmp_path: Path, capsys) -> None:
    data = write(tmp_path / "mmbench.tsv", [row(number, "ocr", "perception") for number in range(8)])
    for language in ("en", "cn"):
        evaluate(
            ["random"], [f"mmbench:lang={language}"], out=tmp_path / "runs", html=False, variant=Variant(data=str(data))
        )
    picture = tmp_path / "languages.svg"
    assert main(["analyse", "languages", str(tmp_path / "runs"), "--json", "-o", str(picture)]) == 0
    ((found,),) = [one["rows"] for one in json.loads(capsys.readouterr().out)["tables"]]
    assert found["n"] == 8
    assert found["Chinese"] - found["English"] == pytest.approx(found["difference"])
    assert "Chinese" in picture.read_text()


def test_runs_in_one_language_have_nothing_to_compare(folder: Path, capsys) -> None:
    assert main(["analyse", "languages", str(folder)]) == 2
    assert "no two of the 2 runs differ in their language alone" in capsys.readouterr().err


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


def test_prompt_studies_of_mmt_bench(tmp_path: Path, capsys) -> None:
    """Several images against one, and two ways of showing a region, by subtask."""
    boxes = "[[10, 10, 40, 30]]"
    rows = [row(number, "face_retrieval", "image_retrieval", image=several(["red", "blue"])) for number in range(6)] + [
        row(number, "animal_keypoint", "keypoint", boxes=boxes) for number in range(6, 12)
    ]
    data = write(tmp_path / "mmt.tsv", rows, ("boxes",))
    for options in ("images=native", "images=stitch", "images=native,referring=both"):
        evaluate(
            ["random"], [f"mmt-bench:{options}"], out=tmp_path / "runs", html=False, variant=Variant(data=str(data))
        )
    runs = find_runs(tmp_path / "runs")
    found = gains(runs, "images", group="category", base="stitch")
    assert {(one.base, one.value, one.group) for one in found} == {
        ("stitch", "native", group) for group in ("", "face_retrieval", "animal_keypoint")
    }
    (whole,) = gains(runs, "referring")
    assert {whole.base, whole.value} == {"box", "both"}
    assert whole.n == 12
    folder = str(tmp_path / "runs")
    assert main(["analyse", "gains", folder, "--by", "referring=box"]) == 0
    assert "referring: box → both" in capsys.readouterr().out
    assert main(["analyse", "gains", folder, "--by", "refering"]) == 2
    assert "these differ in images, referring" in capsys.readouterr().err


def test_gains_that_are_listed_together_are_adjusted_for_their_number(folder: Path, capsys) -> None:
    runs = find_runs(folder)
    (alone,) = gains(runs)
    assert alone.p is not None
    assert alone.p_holm == alone.p
    several = gains(runs, group="category")
    tested = [one for one in several if one.p is not None and one.p_holm is not None]
    assert len(tested) > 2
    least = min(tested, key=lambda one: one.p or 0.0)
    assert least.p_holm == pytest.approx(min(1.0, len(tested) * (least.p or 0.0)))
    assert all((one.p_holm or 0.0) >= (one.p or 0.0) for one in tested)
    assert main(["analyse", "gains", str(folder), "--group", "category"]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "Holm p" in text
    assert f"p adjusted by Holm for {len(tested)} gains, intervals each alone" in text


def test_a_group_of_few_clusters_claims_nothing(folder: Path, tmp_path: Path) -> None:
    data = write(tmp_path / "mmbench.tsv", [row(number, "ocr", "perception") for number in range(8)])
    for control in (None, "blind"):
        evaluate(
            ["random"],
            ["mmbench"],
            out=tmp_path / "runs",
            html=False,
            limit=4,
            variant=Variant(data=str(data), control=control),
        )
    (found,) = gains(find_runs(tmp_path / "runs"))
    assert (found.n, found.p, found.p_holm, found.interval) == (4, None, None, None)


def test_the_page_of_a_run_has_its_gains(folder: Path, tmp_path: Path) -> None:
    (gain,) = gains(find_runs(folder))
    run = next(run for run in find_runs(folder) if run.info.config.parameters.get("control"))
    page = write_html(run, tmp_path / "page.html").read_text()
    section = page.partition('<section id="gains"')[2].partition("</section>")[0]
    assert '<th scope="row">blind</th>' in section
    assert f'<td class="n">{gain.base_score:.1f}</td>' in section
    assert "blind: right from the text alone" in section
    assert "<h3>" not in section, "the benchmark is the one of the page"
