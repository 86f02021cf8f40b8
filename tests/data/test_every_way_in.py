"""The gold of a user's question is the same by every way in: files, frames, lists, hub tasks, other
tools' files, and the layouts of MVBench and SEED-Bench. Options are drawn to be mistaken: letters,
digits, "None", the labels of other options, equal texts, nothing.

The first row of each table is plain, so that it says what the golds of its column are; without it,
a gold is read right or refused, and never read as another option.
"""

from __future__ import annotations

import csv
import json
import tempfile
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Literal, NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from snellen.benchmarks.declaration.data_file import data_file_declaration
from snellen.benchmarks.declaration.eval_yaml import FieldSpec
from snellen.benchmarks.declaration.hub_task import _adjust_row, _columns
from snellen.benchmarks.declaration.registry import open_benchmark
from snellen.benchmarks.declaration.rows import rows_to_samples
from snellen.core.benchmark import Benchmark, Variant
from snellen.core.errors import DataError
from snellen.core.output import Generated
from snellen.core.sample import Sample
from snellen.data.in_memory import Data, keep_rows
from snellen.data.predictions import read_predictions
from snellen.data.tables.convert import convert_table
from snellen.data.tables.open_table import open_table
from snellen.engine.offline.gold_check import answer_samples
from snellen.settings import Settings

TEXTS = (
    *"aABbcdCDlox",
    "0",
    "1",
    "2",
    "3",
    "4",
    "None",
    "N/A",
    "nan",
    "yes",
    "No",
    "true",
    "(B)",
    "A.",
    "A,B",
    "2.0",
    "red",
    "",
)
PLAIN = ["plain", "flat", "even", "level"]
LABELS = "ABCD"

Style = Literal["label", "text", "index", "index as text"]


class Question(NamedTuple):
    options: list[str]
    right: int

    def gold(self, style: Style) -> str | int:
        if style == "label":
            return LABELS[self.right]
        if style == "text":
            return self.options[self.right]
        return self.right if style == "index" else str(self.right)


Rows = list[dict[str, Any]]
Way = Callable[[Sequence[Question], Style, Path], Iterable[Sample]]


def listed(questions: Sequence[Question], style: Style, column: str = "options") -> Rows:
    return [
        {
            "id": str(number),
            "question": f"Which {number}?",
            column: one.options,
            "answer": one.gold(style),
            "prediction": "x",
        }
        for number, one in enumerate(questions)
    ]


def lettered(questions: Sequence[Question], style: Style) -> Rows:
    return [
        {
            **{name: value for name, value in row.items() if name != "options"},
            **dict(zip(LABELS, row["options"], strict=True)),
        }
        for row in listed(questions, style)
    ]


def opened(path: Path, spec: str = "") -> Iterable[Sample]:
    benchmark = open_benchmark(spec or str(path), Variant(data=str(path) if spec else None))
    return benchmark.samples(benchmark.open())


def delimited(suffix: str, questions: Sequence[Question], style: Style, home: Path):
    path = home / f"q.{suffix}"
    rows = lettered(questions, style)
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(rows[0]), delimiter="\t" if suffix == "tsv" else ",")
        writer.writeheader()
        writer.writerows(rows)
    return opened(path)


def as_json(suffix: str, questions: Sequence[Question], style: Style, home: Path):
    path = home / f"q.{suffix}"
    rows = listed(questions, style)
    lines = (json.dumps(row) + "\n" for row in rows)
    path.write_text(json.dumps(rows) if suffix == "json" else "".join(lines))
    return opened(path)


def parquet(questions: Sequence[Question], style: Style, home: Path):
    import pyarrow as pa
    from pyarrow.parquet import write_table

    write_table(pa.Table.from_pylist(listed(questions, style)), home / "q.parquet")
    return opened(home / "q.parquet")


def workbook(questions: Sequence[Question], style: Style, home: Path):
    from openpyxl import Workbook

    rows = lettered(questions, style)
    book = Workbook()
    for line in (list(rows[0]), *(list(row.values()) for row in rows)):
        book.active.append(line)
    book.save(home / "q.xlsx")
    return predicted(home / "q.xlsx")


def predicted(path: Path) -> Iterable[Sample]:
    """As `snellen score FILE` reads a file that has everything."""
    benchmark = data_file_declaration(str(path))(Variant())
    return benchmark.samples(read_predictions(path).table())


def in_memory(container: Callable[[Rows], Any], questions: Sequence[Question], style: Style, home: Path):
    data = Data(container(listed(questions, style)), name="mine")
    return opened(keep_rows(data, home / "kept", Settings(cache=home / "cache")))


def frame(rows: Rows) -> Any:
    import pandas

    return pandas.DataFrame(rows)


def polars_frame(rows: Rows) -> Any:
    import polars

    return polars.DataFrame(rows)


def arrow(rows: Rows) -> Any:
    import pyarrow

    return pyarrow.Table.from_pylist(rows)


def data_set(rows: Rows) -> Any:
    import datasets

    return datasets.Dataset.from_list(rows)


def columns(rows: Rows) -> dict[str, list[Any]]:
    return {name: [row[name] for row in rows] for name in rows[0]}


def converted(questions: Sequence[Question], style: Style, home: Path):
    as_json("json", questions, style, home)
    table = open_table(str(home / "q.json"))
    convert_table(table, home / "copy.tsv")
    return opened(home / "copy.tsv")


def described(questions: Sequence[Question], style: Style, home: Path):
    as_json("jsonl", questions, style, home)
    (home / "mine.toml").write_text('data = "q.jsonl"\nkind = "choice"\n')
    return opened(home / "mine.toml")


def hub_task(column: str, questions: Sequence[Question], style: Style, home: Path):
    """As an `eval.yaml` names the columns of a data set."""
    path = home / "q.jsonl"
    rows = listed(questions, style, column)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    fields = FieldSpec(input="question", target="answer", choices=column)
    table = open_table(str(path), columns=_columns(fields))
    return rows_to_samples(table, kind="choice", adjust_row=partial(_adjust_row, fields))


def candidates(name: str, questions: Sequence[Question], style: Style, home: Path):
    rows = listed(questions, style, "candidates")
    path = home / "q.jsonl"
    path.write_text("".join(json.dumps({**row, "video": "a.mp4"}) + "\n" for row in rows))
    return opened(path, name)


def seed(questions: Sequence[Question], style: Style, home: Path):
    entries = [
        {
            "question_id": row["id"],
            "question": row["question"],
            "answer": row["answer"],
            "data_type": "image",
            "question_type_id": 1,
            "data_id": "x",
            **{f"choice_{letter}": text for letter, text in zip("abcd", row["options"], strict=True)},
        }
        for row in listed(questions, style)
    ]
    (home / "SEED.json").write_text(json.dumps({"questions": entries}))
    return opened(home / "SEED.json", "seedbench")


def lmms_eval(questions: Sequence[Question], style: Style, home: Path):
    lines = [
        {
            "doc_id": number,
            "doc": {name: row[name] for name in ("id", "question", "options")},
            "target": row["answer"],
            "arguments": [[row["question"], {}]],
            "resps": [["x"]],
            "filtered_resps": ["x"],
        }
        for number, row in enumerate(listed(questions, style))
    ]
    (home / "log.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    return predicted(home / "log.jsonl")


def inspect_log(questions: Sequence[Question], style: Style, home: Path):
    message = {"role": "assistant", "content": "x"}
    samples = [
        {
            "id": row["id"],
            "epoch": 1,
            "input": row["question"],
            "choices": row["options"],
            "target": row["answer"],
            "messages": [],
            "scores": {},
            "output": {"model": "m", "choices": [{"message": message, "stop_reason": "stop"}]},
        }
        for row in listed(questions, style)
    ]
    document = {"version": 2, "status": "success", "eval": {"task": "t"}, "samples": samples}
    (home / "log.json").write_text(json.dumps(document))
    return predicted(home / "log.json")


def every_eval_ever(questions: Sequence[Question], style: Style, home: Path):
    lines = [
        {
            "schema_version": "0.2",
            "evaluation_id": "e",
            "model_id": "m",
            "evaluation_name": "n",
            "sample_id": row["id"],
            "interaction_type": "single_turn",
            "output": {"raw": ["x"]},
            "input": {"raw": row["question"], "choices": row["options"], "reference": [row["answer"]]},
        }
        for row in listed(questions, style)
    ]
    (home / "log.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    return predicted(home / "log.jsonl")


LETTERS: tuple[Style, ...] = ("label", "text")
"""Ways in that hold texts alone, or options one a column."""
TYPED: tuple[Style, ...] = ("label", "text", "index", "index as text")
WAYS: dict[str, tuple[Way, tuple[Style, ...]]] = {
    "tsv": (partial(delimited, "tsv"), LETTERS),
    "csv": (partial(delimited, "csv"), LETTERS),
    "xlsx": (workbook, LETTERS),
    "json": (partial(as_json, "json"), TYPED),
    "jsonl": (partial(as_json, "jsonl"), TYPED),
    "parquet": (parquet, TYPED),
    "converted": (converted, TYPED),
    "toml": (described, TYPED),
    "list of dicts": (partial(in_memory, list), TYPED),
    "dict of columns": (partial(in_memory, columns), TYPED),
    "pandas": (partial(in_memory, frame), TYPED),
    "polars": (partial(in_memory, polars_frame), TYPED),
    "arrow": (partial(in_memory, arrow), TYPED),
    "datasets": (partial(in_memory, data_set), TYPED),
    "hub task": (partial(hub_task, "choices"), TYPED),
    "hub task, own column": (partial(hub_task, "texts"), TYPED),
    "mvbench": (partial(candidates, "mvbench"), TYPED),
    "mlvu": (partial(candidates, "mlvu"), TYPED),
    "video-mme": (partial(candidates, "video-mme"), TYPED),
    "seed json": (seed, ("label",)),
    "lmms-eval": (lmms_eval, TYPED),
    "inspect": (inspect_log, ("label", "text")),
    "every eval ever": (every_eval_ever, LETTERS),
}

options = st.lists(st.sampled_from(TEXTS), min_size=4, max_size=4)
asked = st.builds(Question, options, st.integers(0, 3))


def can_be_asked(one: Question) -> bool:
    """A column that is empty twice in a row ends the options; an empty option is not right."""
    texts = one.options
    gaps = any(not texts[at] and not texts[at + 1] for at in range(3))
    return bool(texts[one.right]) and bool(texts[0]) and not gaps


def scores(samples: Sequence[Sample], benchmark: Benchmark, reply: str) -> list[float | None]:
    records = answer_samples(benchmark, samples, lambda *_: Generated(reply))
    return [record.score for record in records]


@pytest.fixture(scope="module")
def plain_benchmark(tmp_path_factory: pytest.TempPathFactory) -> Benchmark:
    path = tmp_path_factory.mktemp("plain") / "q.tsv"
    path.write_text("question\tA\tB\tanswer\nq\tx\ty\tA\n")
    return open_benchmark(str(path))


@pytest.mark.parametrize("name", list(WAYS))
@settings(max_examples=20, deadline=None, derandomize=True, database=None)
@given(data=st.data())
def test_the_gold_is_the_right_option(name: str, data: st.DataObject, plain_benchmark: Benchmark) -> None:
    way, styles = WAYS[name]
    style = data.draw(st.sampled_from(styles))
    is_plain = style == "index as text" or data.draw(st.booleans())
    drawn = data.draw(st.lists(asked.filter(can_be_asked), min_size=1, max_size=3))
    questions = [*([Question(PLAIN, 2)] if is_plain else []), *drawn]
    equal = any(one.options.count(one.options[one.right]) > 1 for one in drawn)
    with tempfile.TemporaryDirectory() as folder:
        try:
            samples = list(way(questions, style, Path(folder)))
        except DataError as error:
            told = str(error)
            assert "is the text of" in told
            if is_plain:
                assert style == "text"
                assert equal
            return
    golds = [sample.gold for sample in samples]
    assert golds == [(LABELS[one.right],) for one in questions], (style, questions)
    assert not (equal and style == "text")
    for one, sample in zip(questions, samples, strict=True):
        assert scores([sample], plain_benchmark, LABELS[one.right]) == [1.0]
        wrong = next(label for label in sample.options if label != LABELS[one.right])
        assert scores([sample], plain_benchmark, wrong) == [0.0]
