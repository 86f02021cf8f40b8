"""The command line as a user meets it: sentences, exit codes, clean standard output."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import pytest
from typed import said

from snellen.cli.parser import build_parser

ROWS = [
    ("1", "Which?", "red", "blue", "A", "colour"),
    ("2", "Which?", "red", "blue", "B", "colour"),
    ("3", "Is it red?", "", "", "yes", "truth"),
]


@pytest.fixture
def data(tmp_path: Path) -> Path:
    path = tmp_path / "mine.tsv"
    lines = ["\t".join(row) for row in [("index", "question", "A", "B", "answer", "category"), *ROWS]]
    path.write_text("\n".join(lines) + "\n")
    return path


def predictions(tmp_path: Path, *rows: tuple[str, str]) -> str:
    path = tmp_path / "predictions.csv"
    path.write_text("index,prediction\n" + "".join(f"{i},{text}\n" for i, text in rows))
    return str(path)


def test_run_prints_a_table_and_finds_its_run_again(data: Path, tmp_path: Path, capsys) -> None:
    command = ["run", "-m", "random", "-b", data, "--out", tmp_path / "out"]
    code, out, _ = said(capsys, *command)
    assert code == 0
    assert "mine  accuracy" in out
    (folder,) = (tmp_path / "out").glob("random--mine--????????")
    assert {"run.json", "samples.jsonl", "report.json", "report.html"} <= {path.name for path in folder.iterdir()}
    before = (folder / "samples.jsonl").read_bytes()
    assert said(capsys, *command)[0] == 0
    assert (folder / "samples.jsonl").read_bytes() == before


def test_several_models_and_benchmarks_in_one_command(data: Path, tmp_path: Path, capsys) -> None:
    models = ["-m", "random", "-m", "random:seed=1"]
    code, out, _ = said(capsys, "run", *models, "-b", data, "-b", "eyechart", "--limit", 5, "--out", tmp_path / "o")
    assert code == 0
    assert out.count("report: ") == 4


def test_score_prints_one_json_object(data: Path, tmp_path: Path, capsys) -> None:
    file = predictions(tmp_path, ("1", "A"), ("2", "I think it is red."), ("3", '"Yes, it is."'))
    code, out, err = said(capsys, "score", data, "--predictions", file, "--json")
    card = json.loads(out)
    assert (code, err) == (0, "")
    assert card["headline"]["value"] == pytest.approx(200 / 3)
    assert card["metrics"]["by_group"]["category"] == {"colour": 50.0, "truth": 100.0}
    assert card["outcomes"]["answered"] == 3
    assert card["n"] == 3


def test_missing_predictions_exit_1_and_are_left_out(data: Path, tmp_path: Path, capsys) -> None:
    file = predictions(tmp_path, ("1", "A"), ("99", "B"))
    code, out, err = said(capsys, "score", data, "--predictions", file, "--json")
    card = json.loads(out)
    assert code == 1
    assert (card["headline"]["value"], card["outcomes"]["missing"]) == (100.0, 2)
    assert "2 of 3 samples have no prediction" in card["notices"][0]
    assert card["bounds"] == {"worst": pytest.approx(100 / 3), "best": 100.0}
    assert "1 prediction of no known question" in err


def test_predictions_that_hold_their_own_gold_need_no_data(tmp_path: Path, capsys) -> None:
    path = tmp_path / "all.jsonl"
    rows = [{"id": i, "response": "B", "label": "AB"[i % 2]} for i in range(4)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    code, out, _ = said(capsys, "score", "scienceqa", "--predictions", path, "--json")
    assert (code, json.loads(out)["headline"]["value"]) == (0, 50.0)


@pytest.mark.parametrize("form", ["table", "json", "csv", "markdown", "latex"])
def test_report_formats_hold_the_same_number(data: Path, tmp_path: Path, capsys, form) -> None:
    said(capsys, "run", "-m", "random", "-b", data, "--out", tmp_path / "out", "--no-html")
    value = json.loads(next((tmp_path / "out").glob("*/report.json")).read_text())
    code, out, _ = said(capsys, "report", tmp_path / "out", "--format", form)
    assert code == 0
    headline = value["summary"]["headline"]["value"]
    assert f"{headline:.1f}" in out or str(headline)[:6] in out


@pytest.mark.parametrize("form", ["json", "csv", "markdown", "latex"])
def test_run_prints_what_report_prints(data: Path, tmp_path: Path, capsys, form) -> None:
    words = ("-m", "random", "-m", "random:seed=1", "-b", data, "--out", tmp_path / "out", "-q")
    code, out, err = said(capsys, "run", *words, "--format", form)
    assert code == 0
    assert err.count("report: ") == 2
    folders = sorted((tmp_path / "out").glob("random*"))
    assert said(capsys, "report", *folders, "--format", form)[1] == out
    if form == "json":
        again = json.loads(said(capsys, "run", *words, "--json")[1])
        assert [one["summary"] for one in again] == [one["summary"] for one in json.loads(out)]


def test_report_writes_and_draws_by_the_endings(data: Path, tmp_path: Path, capsys) -> None:
    runs = tmp_path / "out"
    said(capsys, "run", "-m", "random", "-b", data, "--out", runs, "--no-html")
    files = [tmp_path / f"scores.{ending}" for ending in ("tex", "csv", "svg", "html")]
    flags = [word for file in files for word in ("-o", file)]
    assert said(capsys, "report", runs, *flags)[:2] == (0, f"{files[3]}\n")
    tex, csv, svg, page = (file.read_text(encoding="utf-8") for file in files)
    assert r"\begin{tabular}" in tex
    assert csv.startswith("kind,run,model")
    assert svg.startswith("<svg")
    assert "<h1" in page
    code, _, err = said(capsys, "report", runs, "-o", tmp_path / "scores.doc")
    assert (code, err.count("\n")) == (2, 1)
    assert "expected a file that ends in .txt, .json" in err


@pytest.mark.parametrize(
    ("argv", "sentence"),
    [
        (["run", "-m", "randm", "-b", "eyechart"], "did you mean random?"),
        (["run", "-m", "random", "-b", "eychart"], "did you mean eyechart"),
        (["run", "-m", "random", "-b", "eyechart:split=dev"], "expected one of test, photos"),
        (["run", "-m", "random:sead=1", "-b", "eyechart"], "known options: seed"),
        (["run", "-m", "random", "-b", "nowhere.tsv"], "there is no such file"),
        (["run", "-m", "random", "-b", "eyechart", "--limit", "0"], "expected at least 1"),
        (["run", "-m", "random", "-b", "eyechart", "--circluar"], "did you mean --circular?"),
        (["runn"], "did you mean run?"),
        (["run", "-m", "random", "-b", "pyproject.toml"], "a benchmark's description may have"),
        (["run", "-m", "random", "-b", "README.md"], "unknown kind of data file '.md'"),
        (["run", "-m", "random", "-b", "eyechart", "--columns", "gold=x"], "knows its columns"),
        (["score", "a.tsv", "--predictions", "b.csv", "--columns", "qestion=x"], "did you mean question"),
        (["run", "-m", "random"], "expected -b/--benchmark: a name such as eyechart"),
        ([], "expected a command, such as: snellen run -m snellen/tiny -b eyechart"),
        (["list"], "expected WHAT: one of models, providers, benchmarks, suites, recipes"),
        (["curate"], "expected an action: questions, pictures, metadata, "),
        (["curate", "reviw"], "unknown action 'reviw' (did you mean review?)"),
        (["curate", "review", "x", "--anotator", "Ann"], "did you mean --annotator?"),
        (["info", "x.tsv", "--jsn"], "did you mean --json?"),
        (["parity"], "expected -m/--model: provider/model"),
        (["report", "exmples"], "there is no such file or folder; did you mean examples?"),
        (["score", "eyechart", "--predictions", "nowhere.csv"], "there is no such file"),
        (["report", "nowhere"], "no run in nowhere"),
        (["info", "eyechrt"], "did you mean eyechart"),
        (["run", "--load", "nowhere.py", "-m", "x", "-b", "eyechart"], "cannot read nowhere.py"),
    ],
)
def test_a_mistake_gets_one_sentence_and_exit_code_2(argv, sentence, capsys, tmp_path) -> None:
    folder = ["--out", tmp_path] if argv[:1] == ["run"] else []
    code, out, err = said(capsys, *argv, *folder)
    assert (code, out) == (2, "")
    assert sentence in err
    assert err.startswith("snellen: ")
    assert "Traceback" not in err


def test_a_folder_that_cannot_be_written_gets_a_sentence(data: Path, tmp_path, capsys) -> None:
    (tmp_path / "taken").write_text("a file, not a folder")
    code, _, err = said(capsys, "run", "-m", "random", "-b", data, "--out", tmp_path / "taken")
    assert code == 2
    assert "taken is a file; --out expects a folder" in err


def test_an_undecodable_picture_fails_its_sample_only(tmp_path: Path, capsys) -> None:
    good = next(Path("src/snellen/benchmarks/data").glob("eyechart.tsv"), None)
    assert good is not None, "run the tests from the repository's root"
    path = tmp_path / "pictures.tsv"
    lines = good.read_text().splitlines()[:18]
    cells = lines[17].split("\t")
    cells[1] = "bm90IGEgcGljdHVyZSBhdCBhbGwsIGp1c3QgdGV4dCBpbiBiYXNlNjQgdGhhdCBpcyBsb25n"
    path.write_text("\n".join([*lines[:17], "\t".join(cells)]) + "\n")
    code, out, _ = said(capsys, "run", "-m", "random", "-b", path, "--out", tmp_path / "out")
    assert code == 1
    assert "1 of 17 samples failed" in out.replace("\n", " ")
    (folder,) = (tmp_path / "out").glob("random--*")
    failed = json.loads((folder / "failures.jsonl").read_text())
    assert failed["passes"][0]["output"]["kind"] == "media"


def test_list_info_and_doctor(capsys) -> None:
    assert "snellen/tiny" in said(capsys, "list", "models")[1]
    names = json.loads(said(capsys, "list", "benchmarks", "--json")[1])
    assert {"eyechart", "scienceqa"} <= {one["name"] for one in names}
    assert "version" in said(capsys, "info", "eyechart")[1]
    assert "identity" in said(capsys, "info", "random")[1]
    _, out, _ = said(capsys, "doctor", "--json")
    assert any(one["what"] == "cache" for one in json.loads(out))


def test_data_commands(data: Path, tmp_path: Path, capsys) -> None:
    assert "3 rows" in said(capsys, "info", data)[1]
    code, out, _ = said(capsys, "data", "check", data)
    assert (code, "rows 1, 2: the same question" in out) == (1, True)
    assert "3 rows, 1 finding" in out
    code, out, _ = said(capsys, "data", "convert", data, tmp_path / "mine.jsonl")
    assert (code, out.strip()) == (0, f"{tmp_path / 'mine.jsonl'}: 3 rows")
    assert "2 choice, 1 yes_no" in said(capsys, "info", tmp_path / "mine.jsonl")[1]
    bad = tmp_path / "bad.tsv"
    bad.write_text(data.read_text().replace("\tA\tcolour", "\tQ\tcolour"))
    code, out, _ = said(capsys, "data", "check", bad)
    assert (code, "the answer 'Q' is none of" in out) == (1, True)


@pytest.mark.parametrize(
    ("argv", "unneeded"),
    [
        (["curate", "--help"], "snellen_curate.commands.review"),
        (["curate", "translate", "--help"], "snellen.engine"),
        (["hub", "serve", "--help"], "snellen_hub.commands.worker"),
        (["analyse", "letters", "--help"], "numpy"),
        (["info", "--help"], "numpy"),
        (["data", "check", "--help"], "numpy"),
    ],
)
def test_help_imports_only_what_was_typed(argv: list[str], unneeded: str) -> None:
    import subprocess
    import sys

    program = (
        "import sys\nfrom snellen.cli.main import main\n"
        f"try:\n    main({argv!r})\nexcept SystemExit:\n    pass\n"
        f"assert {unneeded!r} not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True, stdout=subprocess.DEVNULL)


def test_every_flag_has_a_help(capsys) -> None:
    parsers = [build_parser()]
    for parser in parsers:
        for action in parser._actions:
            if isinstance(action, argparse._SubParsersAction):
                parsers += action.choices.values()
            else:
                assert action.help, f"{parser.prog} {action.dest}"


def test_closed_output_pipe_is_not_an_error(data: Path, tmp_path: Path) -> None:
    import subprocess
    import sys

    done = subprocess.run(
        f"{sys.executable} -m snellen list models | head -n 1", shell=True, capture_output=True, text=True, check=True
    )
    assert done.stderr == ""


def test_a_reader_of_tables_that_goes_away_leaves_the_exit_code(data: Path, tmp_path: Path) -> None:
    import subprocess
    import sys

    run = [sys.executable, "-m", "snellen", "run", "-m", "random", "-b", str(data), "-q"]
    command = [*run, "--out", str(tmp_path / "out"), "--no-html"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        said = process.stderr.read()
    assert (process.returncode, said) == (0, b"")


def test_no_color_leaves_the_colours_out(tmp_path: Path, capsys, monkeypatch) -> None:
    numbers = tmp_path / "numbers.csv"
    numbers.write_text("model,subtask,acc,acc_plus\nm,OCR,33.33,1.00\n")
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.delenv("NO_COLOR", raising=False)
    yellow = "\x1b[33m! m, OCR: no counts give 33.33 and 1.00"
    assert yellow in said(capsys, "leaderboard", numbers)[1]
    monkeypatch.setenv("NO_COLOR", "1")
    plain = said(capsys, "leaderboard", numbers)[1]
    assert "! m, OCR: no counts give" in plain
    assert "\x1b[33m" not in plain


def test_a_full_disk_behind_standard_output_says_what_to_do(data: Path, tmp_path: Path) -> None:
    import subprocess
    import sys

    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "snellen", "info", str(data)], stdout=full, stderr=subprocess.PIPE, text=True
        )
    assert (done.returncode, done.stderr) == (
        2,
        "snellen: standard output: No space left on device; make room, or write elsewhere\n",
    )


def test_dev_writes_the_files_of_a_benchmark(capsys, tmp_path: Path) -> None:
    folders = ("src/snellen/benchmarks/perception", "tests/benchmarks/layouts")
    for folder in folders:
        (tmp_path / folder).mkdir(parents=True)
    code, out, _ = said(capsys, "dev", "new-benchmark", "perception/colour-quiz", "--out", tmp_path)
    assert code == 0
    assert all(Path(line).is_file() for line in out.splitlines())
    assert [Path(line).name for line in out.splitlines()] == [
        "colour_quiz.py",
        "colour-quiz.tsv",
        "test_colour_quiz.py",
    ]
    code, _, err = said(capsys, "dev", "new-benchmark", "perception/eyechart", "--out", tmp_path)
    assert (code, "is there already" in err) == (2, True)
    code, _, err = said(capsys, "dev", "new-benchmark", "eyechart", "--out", tmp_path)
    assert (code, "expected FOLDER/NAME" in err) == (2, True)
