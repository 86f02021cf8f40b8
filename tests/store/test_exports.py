"""Runs as other tools' files, and back: the same number."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from snellen import RunOptions, evaluate, score
from snellen.cli import main
from snellen.core.benchmark import Variant
from snellen.store.export.vlmevalkit import as_tsv, vlmevalkit_sheet
from snellen.store.runs import RunFolder

TEXTS = ("red", "blue", "green", "pink")
HEADER = ["index", "question", "A", "B", "C", "D", "answer", "category", "l2-category", "split"]


def questions(path: Path, gold: bool = True) -> Path:
    """Six questions of four options, one of three, one yes/no."""
    rows = [[str(10 + n), f"Which is {n}?", *TEXTS, "ABCD"[n % 4], "colour", "coarse", "dev"] for n in range(6)]
    rows.append(["20", "Which of three?", "up", "down", "left", "", "B", "place", "fine", "dev"])
    rows.append(["21", "Is it =1+1?", "", "", "", "", "Yes", "place", "fine", "dev"])
    if not gold:
        rows = [[*row[:6], "", *row[7:9], "test"] for row in rows[:7]]
    with path.open("w", newline="") as file:
        csv.writer(file, delimiter="\t").writerows([HEADER, *rows])
    return path


def said(capsys: pytest.CaptureFixture[str], *argv: object) -> tuple[int, str, str]:
    code = main([str(word) for word in argv])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def ran(tmp_path: Path, data: Path, circular: str | None = None, model: str = "random"):
    variant = Variant(circular=circular)
    options = RunOptions(out=tmp_path / "out", variant=variant, html=False, require_answers=False)
    (run,) = evaluate([model], [str(data)], options).runs
    return run


@pytest.mark.parametrize("suffix", ["tsv", "xlsx"])
@pytest.mark.parametrize("circular", [None, "early", "full"])
def test_an_exported_run_scores_the_same(tmp_path, capsys, suffix, circular) -> None:
    run: RunFolder = ran(tmp_path, questions(tmp_path / "q.tsv"), circular)
    target = tmp_path / f"out.{suffix}"
    argv = ["export", run.path, "--to", f"vlmevalkit-{suffix}", "-o", target]
    assert said(capsys, *argv) == (0, "", "")
    if suffix == "xlsx":
        said(capsys, "data", "convert", target, tmp_path / "again.tsv")
        target = tmp_path / "again.tsv"
    again = score(str(target), variant=Variant(circular=circular)).summary
    ours = run.report().summary
    assert again.headline.value == pytest.approx(ours.headline.value)
    assert again.outcomes["answered"] == ours.outcomes["answered"]
    assert {name: one.value for name, one in again.groups["category"].items()} == {
        name: one.value for name, one in ours.groups["category"].items()
    }


def test_rotations_are_rows_with_their_own_index_options_and_gold(tmp_path, capsys) -> None:
    run = ran(tmp_path, questions(tmp_path / "q.tsv"), "full")
    _, text, _ = said(capsys, "export", run.path, "--to", "vlmevalkit-tsv")
    rows = list(csv.DictReader(text.splitlines(), delimiter="\t"))
    assert list(rows[0]) == [*HEADER[:7], "category", "l2-category", "split", "prediction"]
    found = {row["index"]: row for row in rows}
    assert len(found) == len(rows) == 6 * 4 + 3 + 1
    turned = found["1000010"]
    assert [turned[label] for label in "ABCD"] == ["pink", "red", "blue", "green"]
    assert (turned["answer"], turned["split"]) == ("B", "dev")


def test_a_failure_stays_one(tmp_path: Path, capsys) -> None:
    data = questions(tmp_path / "q.tsv")
    replies = tmp_path / "p.jsonl"
    rows = [{"index": n, "prediction": "A"} for n in range(10, 16)]
    rows.append({"index": 20, "prediction": "", "error": "timed out"})
    replies.write_text("".join(json.dumps(row) + "\n" for row in rows))
    run = ran(tmp_path, data, model=f"replay/{replies}")
    target = tmp_path / "out.tsv"
    assert said(capsys, "export", run.path, "--to", "vlmevalkit-tsv", "-o", target)[0] == 0
    again = score(str(target)).summary
    assert (again.outcomes["failed"], again.outcomes["answered"]) == (2, 6)
    assert again.headline.value == run.report().summary.headline.value


def test_a_hidden_split_makes_a_submission_with_every_rotation(tmp_path, capsys) -> None:
    from openpyxl import load_workbook

    run = ran(tmp_path, questions(tmp_path / "q.tsv", gold=False), "early")
    assert run.report().summary.headline.value is None
    target = tmp_path / "up.xlsx"
    argv = ["export", run.path, "--to", "mmbench-submission", "-o", target]
    assert said(capsys, *argv)[0] == 0
    header, *rows = load_workbook(target).active.iter_rows(values_only=True)
    assert header == ("index", "question", "A", "B", "C", "D", "prediction", "split")
    assert len(rows) == 6 * 4 + 3
    assert {row[0] % 1_000_000 for row in rows} == {10, 11, 12, 13, 14, 15, 20}
    assert all(row[6] for row in rows)


def test_a_run_over_hidden_answers_writes_its_submission(tmp_path: Path, capsys) -> None:
    data = questions(tmp_path / "q.tsv", gold=False)
    argv = ["run", "-m", "random", "-b", data, "--circular", "--out", tmp_path / "o", "-q", "--columns", "gold="]
    code, out, _ = said(capsys, *argv)
    (written,) = (tmp_path / "o").glob("random--*/submission.xlsx")
    said_plainly = out.replace("\n", "")
    assert (code, "the answers are withheld, so there is no score" in said_plainly) == (0, True)
    assert str(written) in said_plainly
    said(capsys, "run", "-m", "random", "-b", questions(data), "--out", tmp_path / "p", "-q")
    assert not list((tmp_path / "p").glob("random--*/submission.xlsx"))


def test_a_submission_that_would_lack_rotations_is_refused(tmp_path: Path, capsys) -> None:
    data = questions(tmp_path / "q.tsv")
    once, early = ran(tmp_path, data), ran(tmp_path, data, "early")
    for run, sentence in ((once, "asked each question once"), (early, "rotations are missing")):
        code, _, err = said(capsys, "export", run.path, "--to", "mmbench-submission")
        assert (code, sentence in err, "--circular full" in err) == (2, True, True)


@pytest.mark.attack("formulas and control signs in text that is exported", "they are text")
def test_text_is_never_a_formula_and_control_signs_are_spaces(tmp_path: Path, capsys) -> None:
    from openpyxl import load_workbook

    data = questions(tmp_path / "q.tsv")
    replies = tmp_path / "p.jsonl"
    rows = [{"index": n, "prediction": "=A1+1\x07B"} for n in (*range(10, 16), 20, 21)]
    replies.write_text("".join(json.dumps(row) + "\n" for row in rows))
    run = ran(tmp_path, data, model=f"replay/{replies}")
    target = tmp_path / "out.xlsx"
    said(capsys, "export", run.path, "--to", "vlmevalkit-xlsx", "-o", target)
    page = load_workbook(target).active
    cells = [cell for row in page.iter_rows(min_row=2) for cell in row if cell.value]
    assert {cell.data_type for cell in cells if isinstance(cell.value, str)} == {"s"}
    assert any(cell.value == "=A1+1 B" for cell in cells)


def test_rotations_of_questions_without_numbers_are_refused(tmp_path: Path, capsys) -> None:
    data = tmp_path / "named.tsv"
    data.write_text(questions(data).read_text().replace("\n10\t", "\nten\t"))
    run = ran(tmp_path, data, "full")
    code, _, err = said(capsys, "export", run.path, "--to", "vlmevalkit-tsv")
    assert (code, "'ten' was asked in rotations" in err) == (2, True)


@pytest.mark.external_golden("mmbench_dev_llava15_13b")
def test_golden_mmbench_replayed_exported_and_scored_again(golden, tmp_path, capsys) -> None:
    source = golden("mmbench_dev_llava15_13b") / "predictions.csv"
    run = ran(tmp_path, source, "early", model=f"replay/{source}")
    assert run.report().summary.headline.value == pytest.approx(100 * 796 / 1176)
    target = tmp_path / "again.tsv"
    said(capsys, "export", run.path, "--to", "vlmevalkit-tsv", "-o", target)
    again = score("mmbench", target).summary
    assert again.headline.value == pytest.approx(100 * 796 / 1176)
    assert again.metrics["vanilla"].value == run.report().summary.metrics["vanilla"].value


MME_ROWS = (
    "index\timage\tquestion\tcategory\tanswer\tprediction\n"
    "1\ta.jpg\tIs there a cat?\texistence\tYes\tYes\n"
    "2\ta.jpg\tIs there a dog?\texistence\tNo\tYes\n"
    "3\tb.jpg\tIs it 12?\tcount\tYes\tYes\n"
    "4\tb.jpg\tIs it 13?\tcount\tNo\tNo\n"
)
OCR_ROWS = (
    "index\tquestion\tanswer\tcategory\tprediction\n"
    '0\tWrite it.\t["12 34"]\tRegular Text Recognition\t12 34\n'
    '1\tWrite it.\t["a", "b"]\tDoc-oriented VQA\tc\n'
)
MMMU_ROWS = "index\tquestion\tA\tB\tanswer\tsplit\tcategory\tprediction\n1\tWhich?\tx\ty\tB\tvalidation\tArt\tB\n"
VIZWIZ_ROWS = 'index\tquestion\tanswers\tprediction\n1\tWhat?\t["a can", "a can", "can"]\ta can\n'


def exported(folder: Path, name: str, rows: str) -> list[dict[str, str]]:
    """The rows of VLMEvalKit's file of a run of recorded replies; its pictures are not there."""
    data = folder / f"{name}.tsv"
    data.write_text(rows)
    variant = Variant(data=str(data))
    (run,) = evaluate([f"replay/{data}"], [name], out=folder / "o", variant=variant, html=False).runs
    assert run.info.status == "complete"
    text = as_tsv(vlmevalkit_sheet(run))
    return list(csv.DictReader(text.splitlines(), delimiter="\t"))


def test_the_two_questions_about_a_picture_share_a_path(tmp_path: Path) -> None:
    rows = exported(tmp_path, "mme", MME_ROWS)
    paths = [row["image_path"] for row in rows]
    assert paths[0] == paths[1] != paths[2] == paths[3]
    assert [row["category"] for row in rows] == ["existence"] * 2 + ["count"] * 2


def test_single_gold_is_exported_as_a_list_for_vlmevalkit(tmp_path: Path) -> None:
    rows = exported(tmp_path, "ocrbench", OCR_ROWS)
    assert [json.loads(row["answer"]) for row in rows] == [["12 34"], ["a", "b"]]
    (row,) = exported(tmp_path, "vizwiz", VIZWIZ_ROWS)
    assert json.loads(row["answers"]) == ["a can", "a can", "can"]


def test_mmmu_keeps_the_name_of_its_split(tmp_path: Path) -> None:
    (row,) = exported(tmp_path, "mmmu", MMMU_ROWS)
    assert (row["split"], row["category"]) == ("validation", "Art")


def test_recorded_captions_need_no_pictures(tmp_path: Path) -> None:
    data = tmp_path / "c.tsv"
    data.write_text('index\tanswer\tprediction\n1\t["a red car"]\ta red car\n')
    variant = Variant(data=str(data))
    (run,) = evaluate([f"replay/{data}"], ["coco-caption"], out=tmp_path / "o", variant=variant, html=False).runs
    assert run.report().summary.metrics["rouge_l"].value == pytest.approx(100.0)
