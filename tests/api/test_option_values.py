"""Options that Python code passes: other forms of the same value, and mistakes."""

from __future__ import annotations

import copy
import dataclasses
import os
import pickle
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import snellen
from snellen.api.options import RunOptionChanges, RunOptions, change_options, check_options

ROWS = [{"question": f"Is {number} even?", "answer": "no"} for number in (1, 3, 5)]


def yes(request: snellen.Generate) -> str:
    return "yes"


def fails(request: snellen.Generate) -> str:
    raise ValueError("out of memory")


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"limit": "3"}, "limit is '3', of type str; expected int or None"),
        ({"limit": 2.5}, "limit is 2.5, of type float; expected int or None"),
        ({"limit": True}, "limit is True, of type bool; expected int or None"),
        ({"seed": "a"}, "seed is 'a', of type str; expected int"),
        ({"html": "no"}, "html is 'no', of type str; expected bool"),
        ({"budget": 5}, "budget is 5, of type int; expected str or None"),
        ({"out": None}, "out is None, of type NoneType; expected Path or str"),
        (
            {"sampling": {"temperature": 1}},
            "sampling is {'temperature': 1}, of type dict; expected snellen.Sampling(...)",
        ),
        (
            {"sampling": snellen.Sampling(temperature="hot")},  # type: ignore[arg-type]
            "sampling.temperature is 'hot', of type str; expected float or None",
        ),
        (
            {"variant": snellen.Variant(max_new_tokens="9")},  # type: ignore[arg-type]
            "variant.max_new_tokens is '9', of type str; expected int or None",
        ),
        (
            {"temperature": 0.7},
            "RunOptions has no field 'temperature'; write sampling=snellen.Sampling(temperature=...)",
        ),
        ({"circular": "early"}, "RunOptions has no field 'circular'; write variant=snellen.Variant(circular=...)"),
    ],
)
def test_mistakes_in_options_give_one_sentence(changes: dict[str, Any], sentence: str) -> None:
    with pytest.raises(snellen.SnellenError) as caught:
        check_options(change_options(RunOptions(), changes))
    assert str(caught.value) == sentence


WIDER = {
    "load": "Sequence[Path | str] | Path | str",
    "fresh": "str | bool | None",
    "extractors": "Sequence[AnyModel] | AnyModel",
    "judges": "Sequence[AnyModel] | AnyModel",
}
"""Arguments that take more than the field of the same name holds."""


def test_arguments_by_name_have_the_types_of_the_fields() -> None:
    arguments = {name: annotation.__forward_arg__ for name, annotation in RunOptionChanges.__annotations__.items()}
    held = {field.name: str(field.type) for field in dataclasses.fields(RunOptions)}
    assert arguments == {**held, **WIDER}


USER_SCRIPT = """\
import snellen

def yes(request: snellen.Generate) -> str:
    return "yes"

snellen.evaluate(yes, "eyechart", limit=3, out="runs", load="a.py", fresh=True, html=False)
snellen.evaluate(yes, "eyechart", limt=3)
snellen.plan("random", "eyechart", limit="3")
async def main() -> None:
    await snellen.aevaluate(yes, "eyechart", progress=True, judges="random")
    await snellen.aevaluate(yes, "eyechart", limt=3)
"""


@pytest.mark.release
def test_a_type_checker_finds_mistakes(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(USER_SCRIPT)
    checked = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(tmp_path), str(script)],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
        env={**os.environ, "MYPYPATH": str(Path(snellen.__file__).parents[1])},
    )
    errors = [line for line in checked.stdout.splitlines() if ": error: " in line]
    assert [line.partition(": error: ")[2].partition('"; ')[0] for line in errors] == [
        'Unexpected keyword argument "limt" for "evaluate',
        'Argument "limit" to "plan" has incompatible type "str',
        'Unexpected keyword argument "limt" for "aevaluate',
    ]
    assert [line.split(":")[1] for line in errors] == ["7", "8", "11"]


def test_options_of_another_type() -> None:
    with pytest.raises(snellen.SnellenError, match="the options are of type int; expected snell"):
        snellen.evaluate(yes, ROWS, 5)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("changes", "field", "value"),
    [
        ({"limit": np.int64(2)}, "limit", 2),
        ({"load": "my_model.py"}, "load", ("my_model.py",)),
        ({"judges": "random"}, "judges", ("random",)),
        ({"judges": None}, "judges", ()),
        ({"extractors": ["a", "b"]}, "extractors", ["a", "b"]),
        ({"fresh": True}, "fresh", ""),
        ({"fresh": False}, "fresh", None),
        ({"fresh": "again"}, "fresh", "again"),
        ({"serve_timeout": 5}, "serve_timeout", 5),
    ],
)
def test_forms_of_the_same_value(changes: dict[str, Any], field: str, value: object) -> None:
    options = change_options(RunOptions(), changes)
    check_options(options)
    assert getattr(options, field) == value
    assert type(getattr(options, field)) is type(value)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ((yes, []), "no benchmark is given, and no rows: the list is empty"),
        ((yes, [{"question": "Why?"}]), r"in Python: Data\(rows, columns={'gold': NAME}\)"),
    ],
)
def test_benchmarks_that_cannot_be_asked(tmp_path: Path, arguments: tuple[Any, Any], sentence: str) -> None:
    with pytest.raises(snellen.SnellenError, match=sentence):
        snellen.evaluate(*arguments, out=tmp_path)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"name": 5}, "data cannot be called 5; expected a name such as 'shapes'"),
        ({"columns": "label"}, "columns are of type str; expected our name to yours"),
        ({"columns": {"goldd": "label"}}, "unknown column role 'goldd'; did you mean gold"),
    ],
)
def test_mistakes_in_data_give_one_sentence(arguments: dict[str, Any], sentence: str) -> None:
    with pytest.raises(snellen.SnellenError, match=sentence):
        snellen.Data(ROWS, **arguments)


def test_data_print_no_rows() -> None:
    assert repr(snellen.Data(ROWS, name="odd")) == "Data(name='odd', columns={}, kind=None)"


def test_refuses_invalid_progress(tmp_path: Path) -> None:
    with pytest.raises(snellen.SnellenError, match="progress is 'bar'; expected True, False"):
        snellen.evaluate(yes, ROWS, out=tmp_path, progress="bar")  # type: ignore[arg-type]


@pytest.fixture
def results(tmp_path: Path) -> snellen.Results:
    data = snellen.Data(ROWS, name="odd")
    return snellen.evaluate([yes, fails], data, out=tmp_path / "runs", html=False)


def test_why_samples_failed_is_shown(results: snellen.Results) -> None:
    reason = "3 samples failed: ValueError: out of memory"
    for shown in (repr(results), results._repr_html_()):
        assert f"fails on odd: {reason}" in shown
    for shown in (repr(results["fails"]), results["fails"]._repr_html_()):
        assert reason in shown
    assert "requests failed (" not in repr(results)
    # An error is no reply.
    sample = results["fails"].samples()[0]._repr_html_()
    assert ">failure<" in sample
    assert ">reply<" not in sample


def test_a_wrong_sample_shows_what_was_expected(results: snellen.Results) -> None:
    assert repr(results["yes"].samples()["0"]).endswith("answer 'Yes', expected 'No', wrong>")


def test_results_are_sliced(results: snellen.Results) -> None:
    assert isinstance(results[1:], snellen.Results)
    assert [run.model for run in results[:1]] == ["yes"]


def test_results_are_copied(results: snellen.Results) -> None:
    copies = pickle.loads(pickle.dumps((results, results[0].samples())))  # noqa: S301 - own bytes
    assert copies[0][0].score == 0
    assert repr(copies[1]) == repr(results[0].samples())
    assert copy.deepcopy(results[0].samples())[0].images == []


def test_run_with_moved_folder_raises_instead_of_being_empty(results: snellen.Results) -> None:
    run = snellen.open_run(results[0].path)
    run.path.rename(run.path.with_name("elsewhere"))
    sentence = f"{run.path} is no longer there; open the run where it is now"
    for shown in (repr(run), run._repr_html_()):
        assert sentence in shown
    with pytest.raises(snellen.SnellenError, match="is no longer there"):
        run.samples()
    with pytest.raises(snellen.SnellenError, match="is no longer there"):
        _ = run.score
    assert snellen.open_run(run.path.with_name("elsewhere")).score == 0


def test_a_run_is_not_compared_with_itself(results: snellen.Results) -> None:
    with pytest.raises(snellen.SnellenError, match="two runs of a benchmark are compared, or more; one run is given"):
        snellen.compare(results[0], results[0])


@pytest.mark.parametrize("path", [None, 5, ["runs"], b"runs"])
@pytest.mark.parametrize("opening", [snellen.open_run, snellen.open_runs])
def test_refuses_values_that_are_not_run_paths(opening: Callable[[Any], object], path: Any) -> None:
    with pytest.raises(snellen.SnellenError) as caught:
        opening(path)
    assert str(caught.value) == (
        f"a run cannot be opened from a value of type {type(path).__name__}; expected the path of "
        "its folder, such as 'snellen-results/RUN'"
    )


@pytest.mark.parametrize(
    ("models", "changes", "sentence"),
    [
        (
            [],
            {},
            "no model is named; name one with -m, or start a server with --serve (in Python: models, or serve=...)",
        ),
        (
            "random",
            {"judge_repeats": 3},
            "judge_repeats asks judges again; name one (judges, or --judge MODEL:repeats=N)",
        ),
        (
            "random",
            {"variant": snellen.Variant(circular="yes")},  # type: ignore[arg-type]
            "circular is 'yes'; expected one of off, early, full",
        ),
        (
            "random",
            {"variant": snellen.Variant(failures="drop")},
            "failures is 'drop'; expected one of exclude, count-wrong, withhold, as-reply",
        ),
        (
            "random",
            {"prices": "other:input=1,output=1"},
            "--price names other, and no such model is asked (in Python: prices)",
        ),
        ("random", {"prices": "input=1"}, "--price 'input=1': expected MODEL:input=2.5,output=10 (in Python: prices)"),
    ],
)
def test_sentences_name_the_argument(tmp_path: Path, models: Any, changes: dict[str, Any], sentence: str) -> None:
    with pytest.raises(snellen.SnellenError) as caught:
        snellen.evaluate(models, "eyechart", out=tmp_path, **changes)
    assert str(caught.value) == sentence


def test_a_plan_names_the_argument(tmp_path: Path) -> None:
    with pytest.raises(snellen.SnellenError) as caught:
        snellen.plan([], "eyechart", out=tmp_path)
    assert str(caught.value) == "no model is named; name one with -m (in Python: models)"
