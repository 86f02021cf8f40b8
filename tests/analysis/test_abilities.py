"""Scores by group from runs and CSV files: hardest, strong and weak, and their plots."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from PIL import Image

from snellen import evaluate
from snellen.analysis.findings.abilities import Gap, abilities, extremes, hard_samples
from snellen.analysis.findings.score_tables import GroupScore, ScoreTable, scores_from_csv, select_scores
from snellen.cli import main
from snellen.core.benchmark import Variant
from snellen.core.errors import DataError, UsageError
from snellen.core.output import ParsedAnswer
from snellen.core.summary import Interval
from snellen.data.tables.open_table import open_table
from snellen.stats.intervals import wilson
from snellen.store.runs import RunFolder, find_runs

SVG = "{http://www.w3.org/2000/svg}"
HREF = "{http://www.w3.org/1999/xlink}href"
WIDE = "model,group,CP,AR\none,open,10,50\nother,open,30,20\n"
LONG = "model,subtask,accuracy\none,CP,10\none,AR,50\nother,CP,30\nother,AR,20\nother,LR,5\n"


def table(tmp_path: Path, text: str) -> ScoreTable:
    file = tmp_path / "scores.csv"
    file.write_text(text)
    return scores_from_csv(open_table(str(file)))


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> list[RunFolder]:
    out = tmp_path_factory.mktemp("runs")
    for model in ("random", "random:seed=1"):
        evaluate([model], ["eyechart"], out=out, variant=Variant(circular="full"), limit=80, html=False)
    return find_runs(out)


def test_hardest_first(tmp_path: Path) -> None:
    found = abilities(table(tmp_path, LONG))
    assert [(one.name, one.best.value, one.model, one.mean) for one in found] == [
        ("CP", 30.0, "other", 20.0),
        ("AR", 50.0, "one", 35.0),
    ]


def test_groups_are_named_as_asked(tmp_path: Path) -> None:
    made = select_scores(table(tmp_path, WIDE), "other,AR, CP")
    assert made.scores == {"other": {"AR": GroupScore(20.0), "CP": GroupScore(30.0)}}
    sentence = r"'XX' is no model and no group .*the models other and the groups AR, CP"
    with pytest.raises(UsageError, match=sentence):
        select_scores(made, "XX")


def test_a_name_with_commas_is_one_name(tmp_path: Path) -> None:
    made = table(tmp_path, WIDE)
    made = made._replace(scores={"one, blind": made.scores["one"], "one": made.scores["other"]})
    assert list(select_scores(made, "AR,one, blind").scores) == ["one, blind"]
    assert list(select_scores(made, "one,AR").scores) == ["one"]


def test_reports_group_missing_for_some_models(tmp_path: Path) -> None:
    made = table(tmp_path, LONG)
    assert made.groups == ["CP", "AR"]
    assert made.notices == ("not every model has a score in: LR",)


def test_totals_and_marks_of_a_published_table_are_not_groups(tmp_path: Path) -> None:
    made = table(tmp_path, "model,in_house_data,Overall,CP,AR\none,0,30,10,50\nother,1,25,30,20\n")
    assert made.groups == ["cp", "ar"]
    assert made.notices == ("columns that are no group: in_house_data (zeros and ones alone), overall (a total)",)
    assert table(tmp_path, "model,overall\none,30\n").groups == ["overall"]


def test_mme_numbers_are_summed_to_scores(tmp_path: Path) -> None:
    made = table(tmp_path, "model,subtask,acc,acc_plus\none,Existence,86.67,73.33\n")
    assert (made.unit, made.top) == ("points", 200.0)
    assert made.scores["one"]["existence"].value == pytest.approx(160.0)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("name,score\none,5\n", "no column 'model'"),
        ("model,subtask,accuracy\none,CP,five\n", "the value is 'five'"),
        ("model,group\none,open\n", "holds no scores"),
    ],
)
def test_other_tables_are_refused(tmp_path: Path, text: str, sentence: str) -> None:
    with pytest.raises(DataError, match=sentence):
        table(tmp_path, text)


def test_strong_and_weak(tmp_path: Path) -> None:
    first, other = extremes(table(tmp_path, WIDE), 1)
    assert (first.strong, first.weak) == ((Gap("ar", 15.0),), (Gap("cp", -10.0),))
    assert (other.strong, other.weak) == ((Gap("cp", 10.0),), (Gap("ar", -15.0),))


def of_counts(*right: int) -> ScoreTable:
    """Models with so many of 100 right in one group, and half of 100 in another."""

    def score(count: int) -> GroupScore:
        found = wilson(count, 100)
        return GroupScore(count, 100, Interval(100 * found.low, 100 * found.high, "wilson"))

    return ScoreTable(
        {f"m{at}": {"one": score(count), "other": score(50)} for at, count in enumerate(right)}, "percent", 100.0
    )


def test_the_best_of_several_has_an_interval_for_its_luck() -> None:
    alone, many = (
        next(one for one in abilities(of_counts(*counts)) if one.name == "one").best
        for counts in ((60,), (52, 51, 54, 60, 50, 53, 49, 55, 51, 50))
    )
    assert alone.interval is not None
    assert many.interval is not None
    assert many.value == alone.value == 60.0
    assert alone.interval.low == pytest.approx(100 * wilson(60, 100).low)
    # It may be the luckiest of ten equal models.
    assert many.interval.low == pytest.approx(100 * wilson(60, 100, 0.995).low)
    assert many.interval.high == alone.interval.high


def test_strong_places_have_intervals_for_their_choice() -> None:
    first, second = extremes(of_counts(90, 50), 2)
    (gap,) = first.strong
    assert gap.value == 20.0
    assert gap.interval is not None
    assert 8 < gap.interval.low < 14
    assert gap.interval.low + gap.interval.high == pytest.approx(40.0)
    # The other group is at the mean: neither strong nor weak.
    (weak,) = second.weak
    assert (weak.name, weak.value, first.weak, second.strong) == ("one", -20.0, (), ())


def test_samples_that_all_have_wrong(runs: list[RunFolder]) -> None:
    found = hard_samples(runs, "category", ["colour", "shape"], 2)
    assert {one.ability for one in found} == {"colour", "shape"}
    assert len(found) <= 4
    for one in found:
        for run, answer in zip(runs, one.answers, strict=True):
            (record,) = [record for record in run.records() if record.id == one.record.id]
            assert record.score == 0.0
            wrong = next(each for each in record.passes if not each.correct)
            options = wrong.options or record.options
            if answer is not None:
                assert answer in options.values() or answer in ("Yes", "No")
                assert options.get(wrong.gold[0], wrong.gold[0]) != answer
            else:
                assert not isinstance(wrong.answer, ParsedAnswer)


def test_abilities_and_radar_commands(runs: list[RunFolder], tmp_path: Path, capsys) -> None:
    folder = str(runs[0].path.parent)
    picture = tmp_path / "radar.svg"
    assert main(["analyse", "radar", folder, "-o", str(picture), "--json"]) == 0
    scores, standing = json.loads(capsys.readouterr().out)["tables"]
    assert len(scores["rows"]) == 9
    assert {row["model"] for row in standing["rows"]} == {"random (limit 80)", "random:seed=1 (limit 80)"}
    drawn = ET.fromstring(picture.read_text())
    texts = {"".join(node.itertext()).strip() for node in drawn.iter(f"{SVG}text")}
    assert {"random (limit 80)", "random:seed=1 (limit 80)", "rendered text"} <= texts
    assert main(["analyse", "abilities", folder, "--json", "--top", "2"]) == 0
    hardest, wrong = json.loads(capsys.readouterr().out)["tables"]
    best = [row["A_max"] for row in hardest["rows"]]
    assert best == sorted(best)
    assert {row["ability"] for row in wrong["rows"]} <= {
        row["category"].replace("_", " ") for row in hardest["rows"][:2]
    }
    assert main(["analyse", "radar", folder, "--group", "nothing"]) == 2
    assert "is not grouped by 'nothing'" in capsys.readouterr().err


def test_cards_hold_the_pictures(runs: list[RunFolder], tmp_path: Path, capsys) -> None:
    folder, cards = str(runs[0].path.parent), tmp_path / "cards.svg"
    words = ["analyse", "cards", folder, "--top", "9", "--each", "1", "--json"]
    assert main([*words, "-o", str(cards)]) == 0
    wrong = json.loads(capsys.readouterr().out)["tables"][1]["rows"]
    drawn = ET.fromstring(cards.read_text())
    urls = [node.get(HREF) or "" for node in drawn.iter(f"{SVG}image")]
    assert len(urls) >= len(wrong) > 0
    assert all(url.startswith("data:image/png;base64,") for url in urls)
    texts = ["".join(one.itertext()) for one in drawn.iter(f"{SVG}text")]
    assert sum("A_max" in text for text in texts) == len(wrong)


def test_leaderboards_are_drawn(tmp_path: Path, capsys) -> None:
    scores, picture = tmp_path / "mme.csv", tmp_path / "boards.svg"
    scores.write_text("model,subtask,acc,acc_plus\none,Existence,86.67,73.33\nother,Existence,50,0\n")
    assert main(["leaderboard", str(scores), "-o", str(picture), "--format", "json"]) == 0
    drawn = ET.fromstring(picture.read_text())
    texts = {"".join(node.itertext()).strip() for node in drawn.iter(f"{SVG}text")}
    assert {"one  1", "other  2", "160.0", "50.0"} <= texts


def test_other_files_than_plots_are_refused(runs: list[RunFolder], tmp_path: Path, capsys) -> None:
    folder = str(runs[0].path.parent)
    assert main(["analyse", "radar", folder, "-o", str(tmp_path / "radar.gif")]) == 2
    assert "expected a file that ends in .txt, .json" in capsys.readouterr().err
    assert main(["analyse", "steps", folder, "-o", str(tmp_path / "steps.svg")]) == 2
    assert "there is nothing to draw" in capsys.readouterr().err


def test_a_png_is_a_png(runs: list[RunFolder], tmp_path: Path) -> None:
    picture = tmp_path / "radar.png"
    assert main(["analyse", "radar", str(runs[0].path.parent), "-o", str(picture)]) == 0
    with Image.open(picture) as opened:
        assert opened.width > 600
        assert len(opened.convert("RGB").getcolors(1 << 20) or ()) > 10
