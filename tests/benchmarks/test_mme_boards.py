"""MME's leaderboards, recomputed from the numbers its paper prints."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest
from paper_files import paper_table

from snellen import evaluate
from snellen.benchmarks.abilities.mme.boards import PrintedScores, build_boards, parse_printed_scores
from snellen.benchmarks.abilities.mme.subtasks import AREAS, SUBTASKS, subtask_name
from snellen.cli.main import main
from snellen.core.errors import DataError
from snellen.data.tables.open_table import open_table
from snellen.report.documents.leaderboards import rank_comparable_runs


def spelled(model: str) -> str:
    """Fig. 2 writes LLaMA-Adapter V2 where Tables 1 and 2 have LLaMA-AdapterV2."""
    return model.lower().replace(" ", "").replace("-", "")


def printed(tmp_path: Path, *lines: str) -> PrintedScores:
    path = tmp_path / "numbers.csv"
    path.write_text("\n".join(["model,subtask,acc,acc_plus", *lines]) + "\n")
    return parse_printed_scores(open_table(str(path)))


def test_figure_2_from_tables_1_and_2() -> None:
    """159 of 160 entries; the other is Perception of LLaVA, printed as 1531.31, which the counts
    make 1531.32. Models of equal score are compared as sets, for the paper ranks them freely and
    cuts them off at the tenth place."""
    found = parse_printed_scores(open_table(str(paper_table("mme_subtasks.csv"))))
    assert len(found.scores) == 30
    boards = {one.name: one for one in build_boards(found.scores)}
    assert list(boards) == [*AREAS, *SUBTASKS]
    everyone = {one.name: one for one in build_boards(found.scores, ranks=30)}
    with paper_table("mme_leaderboards.csv").open(newline="") as file:
        paper = list(csv.DictReader(file))
    assert len(paper) == 160
    wrong = []
    for row in paper:
        name = row["board"].lower() if row["board"].lower() in AREAS else subtask_name(row["board"])
        score = boards[name].places[int(row["rank"]) - 1].score
        tied = {
            spelled(place.model) for place in everyone[name].places if place.score == pytest.approx(score, abs=1e-9)
        }
        if f"{score:.2f}" != row["score"] or spelled(row["model"]) not in tied:
            wrong.append((row["board"], row["model"], row["score"], f"{score:.2f}"))
    assert wrong == [("Perception", "LLaVA", "1531.31", "1531.32")]
    assert {name: one.tied_out for name, one in boards.items() if one.tied_out} == {
        "count": 1,
        "numerical_calculation": 1,
    }


def test_models_that_were_scored_on_fewer_images_are_named() -> None:
    notices = parse_printed_scores(open_table(str(paper_table("mme_subtasks.csv")))).notices
    assert len(notices) == 10
    assert "LRV-Instruction, scene: the numbers fit 182 of 200 images only" in notices


def test_a_model_without_a_subtask_is_not_ranked_in_its_area(tmp_path: Path) -> None:
    lines = [f"whole,{subtask},50.00,0.00" for subtask in SUBTASKS]
    lines += [f"part,{subtask},100.00,100.00" for subtask in SUBTASKS[1:]]
    boards = {one.name: one for one in build_boards(printed(tmp_path, *lines).scores)}
    assert [place.model for place in boards["perception"].places] == ["whole"]
    assert [place.model for place in boards["cognition"].places] == ["part", "whole"]
    assert boards["cognition"].places[0].score == 800.0


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ("m,OCR,101.00,0.00", "acc is '101.00'; expected a percentage"),
        ("m,OCR,50.00,many", "acc_plus is 'many'"),
        ("m,weather,50.00,0.00", "'weather' is no subtask of MME"),
        ("m,OCR,50.00,", "no acc_plus; got the columns model, subtask, acc"),
    ],
)
def test_bad_numbers_give_a_sentence(tmp_path: Path, line: str, sentence: str) -> None:
    with pytest.raises(DataError, match=sentence):
        printed(tmp_path, line)


def test_the_same_subtask_twice_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="OCR of m stands there already"):
        printed(tmp_path, "m,OCR,50.00,0.00", "m,ocr,55.00,10.00")


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    data = tmp_path / "mme.tsv"
    lines = ["index\tcategory\tquestion\tanswer"]
    for subtask in SUBTASKS:
        for at in range(8):
            number = len(lines) - 1
            lines.append(f"{number}\t{subtask}\tIs it {at}?\t{'Yes' if at % 2 else 'No'}")
    data.write_text("\n".join(lines) + "\n")
    from snellen.core.benchmark import Variant

    evaluate(["random", "random:seed=2"], ["mme"], out=tmp_path / "out", variant=Variant(data=str(data)), html=False)
    return tmp_path / "out"


def test_runs_and_printed_numbers_on_one_board(runs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    numbers = tmp_path / "paper.csv"
    lines = [f"perfect,{subtask},100.00,100.00" for subtask in SUBTASKS]
    numbers.write_text("\n".join(["model,subtask,acc,acc_plus", *lines]) + "\n")
    assert main(["leaderboard", str(runs), str(numbers), "--format", "json"]) == 0
    (standing,) = json.loads(capsys.readouterr().out)
    assert [one["name"] for one in standing["boards"]] == ["total", *AREAS, *SUBTASKS]
    first = standing["boards"][1]
    assert first["models"] == 3
    assert first["places"][0] == {
        "rank": 1,
        "model": "perfect",
        "score": 2000.0,
        "n": None,
        "interval": None,
        "ranks": None,
        "letters": None,
        "p_best": None,
    }
    assert all(place["n"] and place["interval"] for place in first["places"][1:])
    assert {place["model"] for place in first["places"]} == {"perfect", "random", "random:seed=2"}


@pytest.mark.parametrize("form", ["table", "csv", "markdown"])
def test_every_format_names_the_models(runs: Path, capsys: pytest.CaptureFixture[str], form: str) -> None:
    assert main(["leaderboard", str(runs), "--format", form, "--top", "1"]) == 0
    text = capsys.readouterr().out
    assert "random" in text
    assert "numerical" in text


def test_runs_with_other_parameters_have_their_own_board(runs: Path, tmp_path: Path) -> None:
    from snellen.core.benchmark import Variant
    from snellen.store.runs import find_runs

    other = Variant(data=str(tmp_path / "mme.tsv"), options={"reading": "word"})
    evaluate(["random"], ["mme"], out=runs, variant=other, html=False)
    folders = find_runs(str(runs))
    found = rank_comparable_runs(folders, [run.report() for run in folders])
    data = f"data {folders[0].info.data.digest[:8]}"
    assert {standing.title for standing in found} == {f"mme ({data})", f"mme (reading=word, {data})"}


def test_a_mistake_is_one_sentence(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["leaderboard", str(runs), "--top", "0"]) == 2
    assert "expected at least 1 place" in capsys.readouterr().err
