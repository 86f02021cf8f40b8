"""`snellen analyse FINDING`: which flags belong to which finding, and every format of one."""

from __future__ import annotations

import csv
import io
import json
import re
from pathlib import Path

import pytest

from snellen import evaluate
from snellen.api.flags import option_flags
from snellen.cli import main
from snellen.cli.commands.analyse import FINDINGS, Options
from snellen.core.benchmark import Variant

PAGE = Path(__file__).parents[2] / "docs" / "analyses.md"
TYPED = {
    "--group": ["category"],
    "--only": ["ocr"],
    "--top": ["2"],
    "--each": ["7"],
    "--by": ["cot"],
    "--language-model": ["x"],
    "--at": ["5"],
    "--judge": ["random"],
    "--load": ["x.py"],
    "--store": ["x.sqlite"],
    "--sheet": ["x.csv"],
    "--share": ["0.5"],
    "--seed": ["1"],
    "--labels": ["x.csv"],
}


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> str:
    out = tmp_path_factory.mktemp("runs")
    for control in (None, "blind"):
        variant = Variant(control=control, circular="off")
        evaluate(["random"], ["eyechart"], out=out, html=False, limit=40, variant=variant)
    return str(out)


def test_flags_of_findings_are_flags_of_the_command() -> None:
    flags = {flag.name for _, flag, _ in option_flags(Options)}
    assert {flag for finding in FINDINGS.values() for flag in finding.flags} == TYPED.keys()
    assert TYPED.keys() <= flags


def test_the_page_lists_the_flags_of_each_finding() -> None:
    rows = re.findall(r"^\| `([a-z-]+)` \| .* \| ?(.*) ?\|$", PAGE.read_text(), re.MULTILINE)
    listed = {name: re.findall(r"`(--[a-z-]+)`", flags) for name, flags in rows}
    assert listed == {name: list(finding.flags) for name, finding in FINDINGS.items()}


@pytest.mark.parametrize("flag", TYPED)
def test_a_flag_of_another_finding_is_refused(flag: str, runs: str, capsys: pytest.CaptureFixture[str]) -> None:
    other = next(name for name, finding in FINDINGS.items() if flag not in finding.flags)
    assert main(["analyse", other, runs, flag, *TYPED[flag]]) == 2
    said = capsys.readouterr()
    owners = ", ".join(name for name, finding in FINDINGS.items() if flag in finding.flags)
    assert said.err == f"snellen: {flag} is a flag of {owners}, not of {other}; leave it out\n"
    assert said.out == ""


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["leters", "x"], "unknown finding 'leters' (did you mean letters?)"),
        ([], "expected FINDING: one of letters, refusals"),
        (["letters"], "analyse letters needs RUN: run folders"),
        (["errors", "{}", "--judge", "a", "--judge", "b"], "--judge names 2 models; expected one"),
        (["abilities", "{}", "--top", "0"], "--top must be at least 1"),
        (["readers", "{}"], "readers writes a sheet of RUN to label with --sheet FILE.csv"),
        (["letters", "{}", "-o", "x.xyz"], "-o x.xyz: expected a file that ends in"),
    ],
)
def test_mistakes_give_one_sentence(
    words: list[str],
    expected: str,
    runs: str,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    try:
        code = main(["analyse", *(word.replace("{}", runs) for word in words)])
    except SystemExit as exit:
        code = exit.code
    assert code == 2
    assert expected in capsys.readouterr().err


def test_runs_may_follow_a_flag(runs: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["analyse", "letters", "--json", runs]) == 0
    first = capsys.readouterr().out
    assert main(["analyse", "--json", "letters", runs]) == 0
    assert capsys.readouterr().out == first
    assert json.loads(first)["title"] == "letters chosen, over all passes"


def test_gains_in_every_format(runs: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["analyse", "gains", runs]
    assert main([*words, "--json"]) == 0
    [gain] = json.loads(capsys.readouterr().out)["gains"]
    assert main([*words, "--format", "csv"]) == 0
    [row] = csv.DictReader(io.StringIO(capsys.readouterr().out))
    assert (row["setting"], row["base"], row["changed"]) == ("control", "none", "blind")
    assert float(row["gain"]) == gain["gain"]
    assert float(row["gain low"]) == gain["interval"]["low"]
    table, picture = tmp_path / "gains.tex", tmp_path / "gains.svg"
    assert main([*words, "-o", str(table), "-o", str(picture)]) == 0
    assert capsys.readouterr().out == ""
    assert "gains of random on the same samples" in table.read_text()
    assert picture.read_text().startswith("<svg")
    assert main([*words, "--format", "html"]) == 0
    assert '<th scope="row">blind</th>' in capsys.readouterr().out
    assert main([*words, "--format", "markdown"]) == 0
    assert "| setting | base | changed | gain |" in capsys.readouterr().out


@pytest.mark.parametrize("finding", ["radar", "profile", "abilities", "cards"])
def test_only_keeps_models_and_groups(finding: str, runs: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["analyse", finding, runs, "--only", "colour,COUNT,shape,random", "--json"]) == 2
    assert "there are the models random (blind, limit 40)," in capsys.readouterr().err
    only = "colour,COUNT,shape,random (blind, limit 40)"
    assert main(["analyse", finding, runs, "--only", only, "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["tables"][0]["rows"]
    assert {row["category"] for row in rows} == {"colour", "COUNT", "shape"}
    of = {row["of"] for row in rows} if "of" in rows[0] else set(rows[0]) - {"category"}
    assert of == {"random (blind, limit 40)"}
