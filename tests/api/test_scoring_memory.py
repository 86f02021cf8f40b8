"""`score` with questions and predictions in memory, in every form the same numbers."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import snellen

ROWS = [
    {"id": "a", "question": "Is it?", "answer": "yes"},
    {"id": "b", "question": "Is it not?", "answer": "no"},
    {"id": "c", "question": "Is it now?", "answer": "yes"},
    {"id": "d", "question": "Is it here?", "answer": "no"},
]
REPLIES = {"a": "Yes.", "b": "yes", "c": "yes", "d": "No"}
LISTED = list(REPLIES.values())
FORMS: dict[str, Callable[[Path], Any]] = {
    "dict": lambda _: REPLIES,
    "list": lambda _: LISTED,
    "tuple": lambda _: tuple(LISTED),
    "array": lambda _: np.array(LISTED),
    "series": lambda _: pd.Series(LISTED),
    "series with ids": lambda _: pd.Series(LISTED, index=list(REPLIES)).iloc[::-1],
    "polars series": lambda _: pl.Series(LISTED),
    "arrow array": lambda _: pa.chunked_array([LISTED]),
    "rows": lambda _: [{"id": name, "prediction": reply} for name, reply in REPLIES.items()],
    "columns": lambda _: {"id": list(REPLIES), "response": LISTED},
    "frame": lambda _: pd.DataFrame({"id": list(REPLIES), "output": LISTED}),
    "polars frame": lambda _: pl.DataFrame({"id": list(REPLIES), "output": LISTED}),
    "data": lambda _: snellen.Data(
        [{"id": name, "said": reply} for name, reply in REPLIES.items()], columns={"prediction": "said"}
    ),
}


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SNELLEN_CACHE", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)


def as_file(folder: Path) -> Path:
    path = folder / "questions.jsonl"
    pd.DataFrame(ROWS).to_json(path, orient="records", lines=True)
    return path


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("holder", ["list", "frame", "data", "file"])
def test_every_form_has_the_same_numbers(tmp_path: Path, form: str, holder: str) -> None:
    questions: Any = {
        "list": ROWS,
        "frame": pd.DataFrame(ROWS),
        "data": snellen.Data(ROWS, name="asked"),
        "file": as_file(tmp_path),
    }[holder]
    scored = snellen.score(questions, FORMS[form](tmp_path))
    assert (scored.score, scored.n) == (75.0, 4)
    assert [record.score for record in scored.records] == [1, 0, 1, 1]


def test_rows_with_everything(tmp_path: Path) -> None:
    rows = [{**row, "prediction": reply} for row, reply in zip(ROWS, LISTED, strict=True)]
    assert snellen.score(rows).score == 75.0
    said = [{**row, "said": reply} for row, reply in zip(ROWS, LISTED, strict=True)]
    assert snellen.score(pd.DataFrame(said), "said").score == 75.0
    data = snellen.Data(said, columns={"prediction": "said"})
    assert snellen.score(data).score == 75.0


def test_the_samples_of_a_run_are_predictions(tmp_path: Path) -> None:
    run = snellen.evaluate("random", ROWS, out=tmp_path / "runs", html=False)[0]
    for predictions in (run, run.samples()):
        assert snellen.score(ROWS, predictions).score == run.score


def test_columns_of_the_questions(tmp_path: Path) -> None:
    rows = [{"uid": row["id"], "text": row["question"], "truth": row["answer"]} for row in ROWS]
    names = {"id": "uid", "question": "text", "gold": "truth"}
    assert snellen.score(snellen.Data(rows, columns=names), LISTED).score == 75.0


@pytest.mark.parametrize(
    ("predictions", "name", "model"),
    [
        (REPLIES, None, "predictions"),
        (LISTED, "mine v2", "mine v2"),
        ("replies.csv", None, "replies.csv"),
        (Path("replies.csv"), "mine", "mine"),
    ],
)
def test_the_model_has_a_name(tmp_path: Path, predictions: Any, name: str, model: str) -> None:
    pd.DataFrame(REPLIES.items(), columns=["id", "prediction"]).to_csv("replies.csv", index=False)
    scored = snellen.score(ROWS, predictions, name=name)
    assert scored.report.run.model == model
    assert scored.report.run.config.identity.name == model
    assert model in repr(scored)


def test_rows_with_replies_are_predictions() -> None:
    said = [{**row, "said": reply} for row, reply in zip(ROWS, LISTED, strict=True)]
    assert snellen.score(said, "said").report.run.model == "predictions"


def test_scores_are_copied() -> None:
    scored = snellen.score(ROWS, REPLIES, name="mine")
    pickled = pickle.loads(pickle.dumps(scored))  # noqa: S301 - own bytes
    for same in (pickled, copy.deepcopy(scored)):
        assert (same.score, same.interval, same.n) == (75.0, scored.interval, 4)
        assert repr(same) == repr(scored)
        assert same._repr_html_() == scored._repr_html_()
        assert same.samples().to_dicts() == scored.samples().to_dicts()
        assert same.benchmark.name == scored.benchmark.name
        with pytest.raises(snellen.SnellenError, match="has the facts of its benchmark and no data"):
            same.benchmark.open()


def test_missing_replies_are_missing(tmp_path: Path) -> None:
    scored = snellen.score(ROWS, {"a": "Yes", "b": None})
    assert scored.summary.outcomes["missing"] == 3


@pytest.mark.parametrize(
    ("questions", "predictions", "sentence"),
    [
        (ROWS, LISTED[:2], "2 replies for the 4 rows"),
        (ROWS, 5, "predictions cannot be of type int"),
        (5, LISTED, "a benchmark cannot be of type int"),
        (ROWS, "nowhere", "unknown column 'nowhere'"),
        ("no-such-benchmark", {"a": "b"}, "unknown benchmark 'no-such-benchmark'"),
        (ROWS, [{"id": "a", "words": "yes"}], "words"),
    ],
)
def test_mistakes_give_one_sentence(questions: Any, predictions: Any, sentence: str) -> None:
    with pytest.raises(snellen.SnellenError, match=sentence):
        snellen.score(questions, predictions)


@pytest.mark.parametrize("name", ["", 5])
def test_refuses_invalid_names_of_predictions(name: Any) -> None:
    with pytest.raises(snellen.SnellenError, match=f"name is {name!r}; expected what tables call"):
        snellen.score(ROWS, REPLIES, name=name)
