"""Own files whose questions count only together."""

from __future__ import annotations

from pathlib import Path

import pytest

from snellen import evaluate, score
from snellen.cli import main
from snellen.core.benchmark import Variant
from snellen.core.errors import SnellenError

# Of three problems the first is right in every question, the second in two of three, the third in
# none that could be read; one question belongs to no problem.
ROWS = (
    "id,triplet_id,part,question,A,B,C,D,answer,prediction\n"
    "1,x,origin,Which?,a,b,c,d,A,A\n"
    "2,x,perception,Which?,a,b,,,B,B\n"
    "3,x,knowledge,Which?,a,b,c,d,C,C\n"
    "4,y,origin,Which?,a,b,c,d,A,A\n"
    "5,y,perception,Which?,a,b,,,B,A\n"
    "6,y,knowledge,Which?,a,b,c,d,C,C\n"
    "7,z,origin,Which?,a,b,c,d,A,\n"
    "8,z,perception,Which?,a,b,,,B,\n"
    "9,z,knowledge,Which?,a,b,c,d,C,\n"
    "10,,origin,Which?,a,b,c,d,C,C\n"
)
UNITS = {"unit": "triplet_id", "category": "part"}


@pytest.fixture
def pro(tmp_path: Path) -> Path:
    path = tmp_path / "pro.csv"
    path.write_text(ROWS)
    return path


def test_a_unit_is_right_if_all_its_questions_are(pro: Path) -> None:
    found = score(str(pro), columns=UNITS).summary
    assert (found.headline.name, found.headline.n) == ("unit_accuracy", 4)
    assert found.headline.value == 50.0
    assert found.metrics["accuracy"].value == 60.0
    # 1/4 * 1/2 * 1/4 for each problem, 1/4 for the question that stands alone.
    assert found.metrics["chance"].value == pytest.approx(100 * (3 / 32 + 1 / 4) / 4)
    assert found.groups["category"]["origin"].value == 75.0
    assert found.headline.interval is not None


def test_a_run_and_its_score_agree_and_the_run_says_how_it_counts(pro: Path, tmp_path: Path) -> None:
    (run,) = evaluate(
        [f"replay/{pro}"], [str(pro)], variant=Variant(columns=UNITS), out=tmp_path / "o", html=False
    ).runs
    assert run.info.config.parameters["unit"] == "triplet_id"
    assert run.report().summary.headline.value == 50.0
    assert {record.unit for record in run.records()} == {"x", "y", "z", ""}


def test_two_columns_and_a_column_that_is_a_group_too(pro: Path) -> None:
    columns = {"unit": "part", "category": "part"}
    assert score(str(pro), columns=columns).summary.headline.n == 3
    assert score(str(pro), columns={"unit": "triplet_id+part"}).summary.headline.n == 10


def test_a_missing_prediction_leaves_its_unit_out(pro: Path, tmp_path: Path) -> None:
    replies = tmp_path / "replies.csv"
    replies.write_text("id,prediction\n1,A\n2,B\n4,A\n5,B\n6,C\n")
    questions = tmp_path / "questions.csv"
    questions.write_text("\n".join(line.rsplit(",", 1)[0] for line in ROWS.replace(",prediction", ",x").splitlines()))
    found = score(str(questions), replies, columns=UNITS).summary
    assert (found.headline.value, found.headline.n) == (100.0, 1)
    assert found.bounds is not None
    assert (found.bounds.worst, found.bounds.best) == (25.0, 100.0)
    harsh = Variant(failures="count-wrong")
    assert score(str(questions), replies, columns=UNITS, variant=harsh).summary.headline.n == 4


def test_a_description_names_its_units(pro: Path, tmp_path: Path) -> None:
    told = tmp_path / "pro.toml"
    told.write_text('data = "pro.csv"\ncolumns = { unit = "triplet_id", category = "part" }\n')
    (run,) = evaluate([f"replay/{pro}"], [str(told)], out=tmp_path / "o", html=False).runs
    assert run.report().summary.headline.value == 50.0


@pytest.mark.parametrize(
    ("benchmark", "columns", "part"),
    [
        ("own", {"unit": "nothing"}, "unknown column 'nothing'"),
        ("mmstar", {"unit": "triplet_id"}, "for a data file of your own"),
    ],
)
def test_units_that_cannot_be(pro: Path, benchmark: str, columns: dict[str, str], part: str) -> None:
    with pytest.raises(SnellenError, match=part):
        score(str(pro) if benchmark == "own" else benchmark, pro, columns=columns)


def test_score_command_reports_unit_accuracy(pro: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["score", str(pro), "--columns", "unit=triplet_id,category=part"]) == 0
    assert "unit accuracy" in capsys.readouterr().out
