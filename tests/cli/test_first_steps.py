"""What somebody meets who types a command for the first time, and types it wrong."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest
from rich.console import Console
from typed import said

from snellen.cli import main
from snellen.models.naming.catalog import catalog
from snellen.report.documents.catalog import catalog_document
from snellen.report.writers.terminal import print_document

RUN = ("run", "-m", "random", "-b", "eyechart")


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ((*RUN, "--limit", "ten"), "argument --limit: got 'ten'; expected a whole number"),
        (("parity", "--tolerance", "x"), "argument --tolerance: got 'x'; expected a number"),
        (
            (*RUN, "--timeout", "1"),
            "--timeout is not a flag but an option of the model; put it behind the model's name: "
            "-m MODEL:timeout=VALUE",
        ),
        ((*RUN, "--batch-size=4"), "-m MODEL:batch_size=VALUE"),
        ((*RUN, "--limt=5"), "unrecognized arguments: --limt=5 (did you mean --limit?)"),
        ((*RUN, "scienceqa"), "unexpected argument 'scienceqa'; to name several, repeat the flag: -b"),
        (("run", "-m", "a", "b", "-b", "c"), "'b'; to name several, repeat the flag: -m A -m B"),
        ((*RUN, "--limit", "1", "2"), "unexpected argument '2'\ntry"),
        (("report", "x", "--timeout", "1"), "unrecognized arguments: --timeout 1"),
        (("list",), "expected WHAT: one of models"),
        (("data", "convert", "x.tsv"), "expected FILE: the file to write"),
        (("compare", "x", "--level", "high"), "'high': expected a percentage, e.g. 95"),
        (("analyse", "readers", "x", "--share", "few"), "'few': expected a share from 0 to 1, e.g. 0.1 or 10%"),
        (("list", "models", "--filter", "size<abc"), "size is parameters in billions, e.g. size<"),
        (
            ("run", "-m", "random", "-b", "eyechart:circular"),
            "option 'circular' is not of the form key=value; `snellen info eyechart` lists the",
        ),
        (("run", "-m", "opnai/gpt-4o", "-b", "eyechart"), "did you mean openai/gpt-4o"),
    ],
)
def test_slip_is_answered_with_a_suggestion(
    words: tuple[str, ...], sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    code, _, err = said(capsys, *words)
    assert code == 2
    assert sentence in err


@pytest.fixture
def unread(tmp_path: Path) -> Path:
    """A run of ten questions that no rule could read an answer to."""
    rows = [f"{at}\tWhich?\tred\tblue\tA" for at in range(10)]
    (tmp_path / "mine.tsv").write_text("\n".join(["index\tquestion\tA\tB\tanswer", *rows]) + "\n")
    (tmp_path / "mute.py").write_text("class Mute:\n    def answer(self, request):\n        return 'I wonder.'\n")
    out = tmp_path / "out"
    command = ("run", "--load", tmp_path / "mute.py", "-m", "Mute", "-b", tmp_path / "mine.tsv")
    assert main([str(word) for word in (*command, "--out", out, "-q", "--no-html")]) == 0
    return out


def test_a_share_may_be_a_percentage(unread: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sheets = []
    readers = ("analyse", "readers", unread)
    for share in ("0.3", "30%"):
        sheet = tmp_path / f"{share}.csv"
        capsys.readouterr()
        assert said(capsys, *readers, "--share", share, "--sheet", sheet) == (
            0,
            f"{sheet}: 3 of 10 unread replies to label\n",
            "",
        )
        sheets.append(sheet.read_text())
    assert sheets[0] == sheets[1]
    code, _, err = said(capsys, *readers, "--share", "110%", "--sheet", tmp_path / "more.csv")
    assert (code, err) == (2, "snellen: the share is 1.1; expected more than 0 and at most 1, e.g. 0.1\n")


def test_singular_for_one_row(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "one.tsv"
    path.write_text("index\tquestion\tA\tB\tanswer\n1\tWhich?\tred\tblue\tA\n")
    assert "  1 row, SHA-256" in said(capsys, "info", path)[1]
    assert said(capsys, "data", "check", path)[1] == f"{path}: 1 row, 0 findings\n"
    target = tmp_path / "one.csv"
    assert said(capsys, "data", "convert", path, target)[1] == f"{target}: 1 row\n"


def test_a_misspelled_question_column_is_found_and_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "mine.tsv"
    path.write_text("index\tqestion\tA\tB\tanswer\n1\tWhich?\tred\tblue\tA\n")
    code, out, _ = said(capsys, "data", "check", path)
    assert (code, out.splitlines()[0]) == (
        1,
        "questions  row 1: there is no question to ask; the columns are index, qestion, A, B, answer",
    )
    code, _, err = said(capsys, "run", "-m", "random", "-b", path, "--out", tmp_path / "out")
    assert code == 2
    assert "name it with --columns question=qestion" in err


def test_info_of_an_address_is_about_a_model(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = said(capsys, "info", "http://127.0.0.1:9/v1#m")
    assert code == 0
    assert out.startswith("model  ")
    assert "provider            server" in out


def test_models_are_listed_in_whole_lines_without_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    header, _, *lines, count = said(capsys, "list", "models", "--filter", "all")[1].splitlines()
    assert len(lines) == len(catalog())
    assert header.split()[:3] == ["name", "provider", "weights"]
    assert count.startswith(f"{len(catalog())} models")


def test_a_narrow_terminal_shows_fewer_columns() -> None:
    file = io.StringIO()
    print_document(catalog_document(catalog()), Console(file=file, width=80, force_terminal=True))
    lines = [line.rstrip() for line in file.getvalue().splitlines()]
    assert "provider" not in lines[0]
    assert "Qwen2.5-VL-7B-Instruct" in "\n".join(lines)
    assert "not shown, for want of width: provider, weights, context, route" in lines[-2]


def test_reports_filter_without_matches(capsys: pytest.CaptureFixture[str]) -> None:
    assert said(capsys, "list", "models", "--filter", "name~no-such-name") == (
        0,
        "no model of the catalog fulfils the filter\n",
        "",
    )


def test_refuses_server_command_that_is_not_a_program(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    serve = ("--serve", "no-such-program {model} --port {port}")
    words = ("run", "-m", "m", *serve, "-b", "eyechart", "--limit", "4", "--out", tmp_path)
    code, _, err = said(capsys, *words)
    assert code == 2
    assert (
        "there is no program 'no-such-program' to start a server with; correct the command, or "
        "name a running server with -m http://HOST:PORT/v1#MODEL" in err
    )


FLAKY = """
class Flaky:
    def answer(self, request):
        number = int(request.messages[0].text().split("Number ")[1].split("?")[0])
        if number < 3:
            raise RuntimeError("out of ink")
        if number < 5:
            raise RuntimeError(f"odd {number}")
        if number < 7:
            raise RuntimeError("too bright")
        return "A"
"""


def test_reasons_of_failures_are_printed_below_the_table(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [f"{at}\tNumber {at}?\tred\tblue\tA" for at in range(10)]
    data, out = tmp_path / "mine.tsv", tmp_path / "out"
    data.write_text("\n".join(["index\tquestion\tA\tB\tanswer", *rows]) + "\n")
    (tmp_path / "flaky.py").write_text(FLAKY)
    load = ("--load", tmp_path / "flaky.py", "-m", "Flaky", "-b", data, "--out", out, "--no-html")
    wanted = [
        "3 samples failed: RuntimeError: out of ink (flaky.py, line 6, in answer)",
        "2 samples failed: RuntimeError: too bright (flaky.py, line 10, in answer)",
        "1 sample failed: RuntimeError: odd 3 (flaky.py, line 8, in answer)",
        "1 sample failed for other reasons: snellen view lists them",
    ]
    for words in (("run", *load), ("report", out)):
        code, told, err = said(capsys, *words)
        assert code == 1
        # The traceback once, at the end of the run alone.
        assert err.count("Traceback (most recent call last)") == (words[0] == "run")
        assert ("to ask what failed again: snellen run --load" in err) == (words[0] == "run")
        if words[0] == "run":
            assert 'flaky.py", line 6, in answer' in err
            assert "the most frequent of 4, raised 3 times; each is in" in err
        lines = [line.strip() for line in told.splitlines()]
        assert [line for line in lines if line.startswith(("1 s", "2 s", "3 s"))] == wanted
    code, told, _ = said(capsys, "run", "-m", "random", "-b", data, "--out", tmp_path / "whole")
    assert "failed: " not in told


def test_refuses_data_flag_beside_a_data_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "mine.tsv"
    path.write_text("index\tquestion\tA\tB\tanswer\n1\tWhich?\tred\tblue\tA\n")
    words = ("run", "-m", "random", "-b", path, "--data", "other.tsv", "--out", tmp_path / "out")
    code, _, err = said(capsys, *words)
    assert code == 2
    assert "mine.tsv is a data file itself, and --data other.tsv would replace it" in err


def test_the_table_of_a_score_is_headed_by_the_benchmarks_own_name(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "my_own_questions.tsv"
    path.write_text("index\tquestion\tA\tB\tanswer\n1\tWhich?\tred\tblue\tA\n")
    answers = tmp_path / "answers.csv"
    answers.write_text("id,prediction\n1,A\n")
    code, out, _ = said(capsys, "score", path, "--predictions", answers)
    assert (code, out.split()[0]) == (0, "my_own_questions")


@pytest.mark.parametrize(
    ("typed", "sentence"),
    [
        (["-b", "eyechart,mmbench"], "to name several, repeat the flag: -b eyechart -b mmbench"),
        (["-b", "task.yaml"], "a task of lmms-eval is written as TOML"),
        (["-b", "eyechart", "--judge", "exact_matching"], "grade without --judge"),
        (["-b", "eyechart", "--system_instruction", "x"], "here --system TEXT"),
        (["-b", "eyechart", "--work-dir", "out"], "here --out DIR"),
        (["--data", "MMBench_DEV_EN", "MMStar"], "VLMEvalKit's --data NAME is -b NAME"),
        (["--tasks=mme", "--output_path", "out"], "; --output_path: here --out DIR; --tasks: here -b NAME"),
        (["-b", "odd.json"], "0.q, 0.a, 1.q, 1.a"),
    ],
)
def test_commands_of_other_tools_are_answered_with_the_equivalent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], typed: list[str], sentence: str
) -> None:
    monkeypatch.chdir(tmp_path)
    items = {str(number): {"q": "?", "a": "x"} for number in range(300)}
    Path("odd.json").write_text(json.dumps({"items": items}))
    Path("task.yaml").write_text("task: dots\n")
    code, _, told = said(capsys, "run", "-m", "random", *typed)
    assert code == 2
    assert sentence in told
    assert len(told) < 1_000
