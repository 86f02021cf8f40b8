"""What is said about a data file of one's own: one sentence for each thing, however many rows."""

from __future__ import annotations

from pathlib import Path

import pytest

from snellen import evaluate, score
from snellen.cli import main
from snellen.cli.commands.doctor import examine
from snellen.settings import Settings
from snellen.store.runs import distinct_runs


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write(name: str, header: str, *rows: str) -> str:
    Path(name).write_text("\n".join([header, *rows]) + "\n")
    return name


def call(capsys: pytest.CaptureFixture[str], *argv: str) -> tuple[int, str]:
    code = main(list(argv))
    captured = capsys.readouterr()
    return code, " ".join((captured.out + captured.err).split())


def test_a_missing_folder_of_pictures_is_one_sentence(capsys) -> None:
    rows = [f"{n}\tWhat is {n}?\tp{n}.png\tx\ty\tA" for n in range(12)]
    data = write("pics.tsv", "index\tquestion\timage_path\tA\tB\tanswer", *rows)
    code, said = call(capsys, "data", "check", data)
    assert code == 1
    assert said.count("there is no image file") == 1
    assert "12 pictures, e.g. there is no image file 'p0.png'" in said
    assert "1 finding" in said
    code, said = call(capsys, "run", "-m", "random", "-b", data, "-q", "--no-html")
    assert code == 1
    assert "12 samples failed: e.g. pics.tsv, row 1: there is no image file 'p0.png'" in said


@pytest.mark.parametrize(
    ("row", "sentence"),
    [
        ("1\tAgain?\tx\ty\tA", "rows 1 and 2 have the same id '1'"),
        ("2\t\tx\ty\tA", "fill in the cell, leave the row out"),
        ("2\tWhich?\tx\ty\tZ", "the answer 'Z' is none of the options"),
    ],
)
def test_refused_data_leave_nothing_behind(row: str, sentence: str, capsys) -> None:
    data = write("mine.tsv", "index\tquestion\tA\tB\tanswer", "1\tWhich?\tx\ty\tA", row)
    code, said = call(capsys, "run", "-m", "random", "-b", data)
    assert (code, said.count("snellen:")) == (2, 1)
    assert sentence in said
    assert [path.name for path in Path().iterdir()] == [data]


def test_a_repeated_question_is_one_line(capsys) -> None:
    rows = [f"{n}\tsame?\tx\ty\tA" for n in range(30)]
    data = write("rep.tsv", "index\tquestion\tA\tB\tanswer", *rows)
    code, said = call(capsys, "data", "check", data)
    assert (code, said.count("the same question")) == (1, 1)
    assert "in 30 rows" in said


def test_rows_without_a_question_are_one_line(capsys) -> None:
    data = write("no.tsv", "index\tA\tB\tanswer", *(f"{n}\tx\ty\tA" for n in range(4)))
    code, said = call(capsys, "data", "check", data)
    assert code == 1
    assert "the same question" not in said
    assert "there is no question to ask" in said


@pytest.mark.parametrize("key", ["gold", "answer"])
def test_the_gold_column_has_two_names(key: str) -> None:
    data = write("q.tsv", "index\tquestion\tA\tB\ttruth\treply", "1\tQ?\tx\ty\tB\tB")
    (run,) = evaluate("random", data, out="o", html=False, variant=_columns({key: "truth"}), progress=None).runs
    assert [record.gold for record in run.records()] == [("B",)]
    columns = {key: "truth", "prediction": "reply"}
    assert score(data, columns=columns).summary.headline.value == 100.0


def _columns(columns: dict[str, str]):
    from snellen.core.benchmark import Variant

    return Variant(columns=columns)


@pytest.mark.parametrize(
    ("separator", "sentence"),
    [
        ("\t", "commas, not tabs (or call the file .tsv)"),
        (";", "commas, not semicolons"),
        (",", "tabs, not commas (or call the file .csv)"),
    ],
)
def test_a_file_with_another_separator(separator: str, sentence: str, capsys) -> None:
    cells = ("index", "question", "A", "B", "answer"), ("1", "Q?", "x", "y", "A")
    data = write("q.tsv" if separator == "," else "q.csv", *(separator.join(row) for row in cells))
    for command in (("run", "-m", "random", "-b", data), ("curate", "duplicates", data)):
        code, said = call(capsys, *command)
        assert code == 2
        assert f"expected cells separated by {sentence}" in said


SEVERAL = [
    ("A,C", "A and C", 1.0),
    ("A,C", "The answers are A and C.", 1.0),
    ("AC", "C, A", 1.0),
    ("A, C", "AC", 1.0),
    ("A,C", "A", 0.0),
    ("A,C", "A, B and C", 0.0),
]


@pytest.mark.parametrize(("gold", "reply", "expected"), SEVERAL)
def test_several_letters_are_an_answer(gold: str, reply: str, expected: float) -> None:
    data = write("q.tsv", "index\tquestion\tA\tB\tC\tanswer", f"1\tWhich?\tx\ty\tz\t{gold}")
    replies = write("p.tsv", "index\tprediction", f"1\t{reply}")
    (run,) = evaluate(f"replay/{replies}", data, out="o", html=False, progress=None).runs
    (record,) = run.records()
    assert (record.gold, record.score) == (("A, C",), expected)
    asked = record.passes[0].prompt[0].text()
    assert "A. x\nB. y\nC. z\nOne or several options are right." in asked


def test_a_type_for_questions_with_several_answers() -> None:
    header = "index\tquestion\tA\tB\ttype\tanswer"
    data = write("q.tsv", header, "1\tWhich?\tx\ty\tmulti\tB", "2\tWhich?\tx\ty\tmcq\tB")
    replies = write("p.tsv", "index\tprediction", "1\tB", "2\tB")
    (run,) = evaluate(f"replay/{replies}", data, out="o", html=False, progress=None).runs
    records = {record.id: record for record in run.records()}
    assert (records["1"].kind, records["2"].kind) == ("open", "choice")
    assert [record.score for record in records.values()] == [1.0, 1.0]
    assert "several" in records["1"].question


def test_gold_equal_to_an_option_text_is_not_read_as_letters() -> None:
    data = write("q.tsv", "index\tquestion\tA\tB\tanswer", "1\tWhich blood type?\tAB\tO\tAB")
    (run,) = evaluate("random", data, out="o", html=False, progress=None).runs
    assert [record.gold for record in run.records()] == [("A",)]


def test_expanded_glob_skips_the_store(capsys) -> None:
    """`RESULTS/*` names the store, too; it is passed over, a path that is not there is not."""
    data = write("q.tsv", "index\tquestion\tA\tB\tanswer", "1\tQ?\tx\ty\tA")
    evaluate(["random", "random:seed=1"], data, out="o", html=False, progress=None)
    paths = sorted(Path("o").iterdir())
    assert any(path.name == "store.sqlite" for path in paths)
    assert len(distinct_runs(paths)) == 2
    code, said = call(capsys, "compare", *map(str, paths))
    assert code == 0
    code, said = call(capsys, "compare", "o", "nowhere")
    assert (code, "there is no such file or folder" in said) == (2, True)
    code, said = call(capsys, "compare", "o/store.sqlite", "q.tsv")
    assert (code, "no run in o/store.sqlite" in said) == (2, True)


def test_doctor_reads_the_names_of_packages() -> None:
    """`pypdfium2` ends in a digit."""
    checks = {check.what: check.detail for check in examine(Settings.from_environment())}
    assert "pypdfium2" in checks["extra pdf"]
    assert "num2words" in checks["extra dev"]
