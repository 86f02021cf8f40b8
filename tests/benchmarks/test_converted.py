"""Data in a layout of the user's own, read by a function of the user's."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from snellen.benchmarks.declaration.build import build
from snellen.benchmarks.declaration.converted import converted_file
from snellen.cli import main
from snellen.core.benchmark import Variant
from snellen.core.errors import DataError, UsageError


def read_rows(path: Path):
    for name, item in json.loads(path.read_text())["items"].items():
        yield {"id": name, "question": item["ask"], "options": item["of"], "answer": item["truth"]}


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SNELLEN_CACHE", str(tmp_path / "cache"))
    path = tmp_path / "odd.json"
    items = {
        "a": {"ask": "Is ice warm?", "of": ["warm", "cold"], "truth": 1},
        "b": {"ask": "Is fire cold?", "of": ["warm", "cold"], "truth": 0},
    }
    path.write_text(json.dumps({"items": items}))
    return path


def test_rows_of_the_function_are_asked(file: Path) -> None:
    benchmark = build(converted_file("odd", read_rows, file), Variant())
    samples = benchmark.samples(benchmark.open())
    assert [(one.id, dict(one.options), one.gold) for one in samples] == [
        ("a", {"A": "warm", "B": "cold"}, ("B",)),
        ("b", {"A": "warm", "B": "cold"}, ("A",)),
    ]
    assert benchmark.name == "odd"


def test_another_file_takes_its_place(file: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.json"
    other.write_text(json.dumps({"items": {"c": {"ask": "?", "of": ["x", "y"], "truth": 0}}}))
    benchmark = build(converted_file("odd", read_rows, file), Variant(data=str(other)))
    assert [sample.id for sample in benchmark.samples(benchmark.open())] == ["c"]


@pytest.mark.parametrize(
    ("function", "sentence"),
    [
        (
            lambda path: [{}["x"]],
            r"odd.json: <lambda> of odd failed: KeyError: 'x' \(test_converted.py, line \d+, in <lambda>\)",
        ),
        (lambda path: ["text"], "odd.json: <lambda> of odd gives str; expected rows"),
        (lambda path: [], "odd holds no rows"),
    ],
)
def test_errors_in_the_function_give_a_sentence(file: Path, function: Callable[[Path], list], sentence: str) -> None:
    with pytest.raises(DataError, match=sentence):
        build(converted_file("odd", function, file), Variant()).open()


def test_a_file_has_to_be_named(file: Path) -> None:
    with pytest.raises(UsageError, match="odd has no data file of its own; name one with --data"):
        build(converted_file("odd", read_rows), Variant()).open()
    with pytest.raises(DataError, match=r"none\.json: no such file or folder"):
        build(converted_file("odd", read_rows, file.with_name("none.json")), Variant()).open()


def test_recorded_replies_are_scored_by_it(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    declared = file.with_name("declared.py")
    declared.write_text(
        "from snellen.benchmarks.declaration.converted import converted_file\n"
        f"{inspect.getsource(read_rows)}\n"
        f"BENCHMARK = converted_file('odd', read_rows, {str(file)!r})\n".replace("(path: Path)", "(path)").replace(
            "from snellen", "import json\nfrom snellen", 1
        )
    )
    replies = file.with_name("replies.csv")
    replies.write_text("id,prediction\na,cold\nb,A\n")
    assert main(["score", "odd", "--load", str(declared), "--predictions", str(replies), "--json"]) == 0
    headline = json.loads(capsys.readouterr().out)["headline"]
    assert (headline["value"], headline["n"]) == (100.0, 2)
    assert main(["score", "od", "--load", str(declared), "--predictions", str(replies)]) == 2
    assert "did you mean odd?" in capsys.readouterr().err
    assert main(["score", str(file.parent / "nowhere")]) == 2
    assert "nowhere: there is no such file or folder" in capsys.readouterr().err
