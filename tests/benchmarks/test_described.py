"""A benchmark of one's own in a few lines of TOML, and text-only data."""

from __future__ import annotations

from pathlib import Path

import pytest

from snellen import evaluate, score
from snellen.benchmarks.declaration.registry import open_benchmark
from snellen.core.benchmark import Benchmark, Variant
from snellen.core.errors import DataError, UnknownName, UsageError
from snellen.core.output import Generated
from snellen.engine.offline.gold_check import answer_samples

ROWS = """\
nr\ttext\ttruth\tcity
1\tWhat says the sign?\tBaker Street\tLondon
2\tAnd this?\tRue\tParis
"""


def written(folder: Path, toml: str, rows: str = ROWS) -> str:
    (folder / "signs.tsv").write_text(rows)
    file = folder / "street.toml"
    file.write_text(toml)
    return str(file)


SIGNS = """\
title = "Signs in the street"
data = "signs.tsv"
kind = "open"
groups = ["city"]
columns = { id = "nr", question = "text", gold = "truth" }
max_new_tokens = 32
"""


def scored(benchmark: Benchmark, *replies: str) -> list[float | None]:
    samples = list(benchmark.samples(benchmark.open()))
    said = dict(zip((sample.id for sample in samples), replies, strict=True))
    records = answer_samples(benchmark, samples, lambda sample, _: Generated(said[sample.id]))
    return [record.score for record in records]


@pytest.mark.parametrize(
    ("metric", "scores"),
    [
        ("accuracy", [0.0, 1.0]),
        ("exact", [0.0, 1.0]),
        ("contains", [0.0, 1.0]),
        ("anls", [11 / 12, 1.0]),
        ("vqa", [0.0, 1.0]),
    ],
)
def test_open_answers_are_graded_by_the_metric(tmp_path: Path, metric: str, scores: list[float]) -> None:
    made = open_benchmark(written(tmp_path, SIGNS + f'metric = "{metric}"\n'))
    assert scored(made, "Baker Strees", "rue") == pytest.approx(scores)
    assert (made.name, made.title, made.headline) == ("street", "Signs in the street", metric)
    assert made.max_new_tokens == 32


def test_numbers_may_be_near(tmp_path: Path) -> None:
    rows = "question\tanswer\nHow many?\t10\nHow far?\t20\n"
    made = open_benchmark(written(tmp_path, 'data = "signs.tsv"\nmetric = "relaxed"\nkind = "open"\n', rows))
    assert scored(made, "10.4", "22") == [1.0, 0.0]


def test_the_description_runs_and_is_scored(tmp_path: Path) -> None:
    file = written(tmp_path, SIGNS + '[prompt]\nopen = "Copy the sign."\n')
    (run,) = evaluate(["random"], [file], out=tmp_path / "out", html=False).runs
    assert run.info.status == "complete"
    assert set(run.report().summary.groups) == {"city"}
    record = next(run.records())
    assert record.passes[0].prompt[0].text().endswith("\nCopy the sign.")
    replies = tmp_path / "replies.csv"
    replies.write_text("id,prediction\n1,Baker Street\n2,Road\n")
    assert score(file, replies).summary.headline.value == pytest.approx(50.0)
    (tmp_path / "other.tsv").write_text(ROWS.replace("Rue", "Road"))
    other = Variant(data=str(tmp_path / "other.tsv"))
    assert score(file, replies, variant=other).summary.headline.value == pytest.approx(100.0)


def test_another_description_is_another_run(tmp_path: Path) -> None:
    first = open_benchmark(written(tmp_path, SIGNS)).parameters
    second = open_benchmark(written(tmp_path, SIGNS + 'metric = "anls"\n')).parameters
    assert first["described"] != second["described"]


def test_judged_replies_need_a_judge(tmp_path: Path) -> None:
    file = written(tmp_path, SIGNS + "judge = true\n")
    assert "judge" in open_benchmark(file).unscorable
    made = open_benchmark(file, Variant(judges=1))
    samples = list(made.samples(made.open()))
    records = answer_samples(made, samples, lambda *_: Generated("a reply"), lambda request: Generated("4"))
    assert [record.score for record in records] == [0.75, 0.75]
    assert made.summarise(records).headline.value == pytest.approx(75.0)


def test_grades_of_a_judge_are_not_counted_by_units(tmp_path: Path) -> None:
    file = written(tmp_path, SIGNS + "judge = true\n")
    with pytest.raises(UsageError, match="leave out --columns unit"):
        open_benchmark(file, Variant(judges=1, columns={"unit": "city"}))


@pytest.mark.parametrize(
    ("toml", "error", "told"),
    [
        ('title = "x"\n', DataError, "data"),
        ('data = "signs.tsv"\ngroup = ["x"]\n', DataError, "may have: data, title"),
        ('data = "signs.tsv"\nmetric = "anl"\n', UnknownName, "did you mean anls"),
        ('data = "signs.tsv"\ncolumns = { quest = "x" }\n', UnknownName, "question"),
        ('data = "signs.tsv"\nprompt = { close = "x" }\n', DataError, "close"),
        ('data = "signs.tsv"\njudge = true\nmetric = "anls"\n', DataError, "leave out"),
        ("data = \n", DataError, "is no TOML"),
    ],
)
def test_mistakes_in_a_description_give_one_sentence(
    tmp_path: Path, toml: str, error: type[Exception], told: str
) -> None:
    with pytest.raises(error, match=told):
        open_benchmark(written(tmp_path, toml))


def test_missing_description_gives_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="there is no such file"):
        open_benchmark(str(tmp_path / "none.toml"))


def test_multiple_choice_without_pictures(tmp_path: Path) -> None:
    file = tmp_path / "mmlu.tsv"
    file.write_text(
        "index\tquestion\tA\tB\tC\tD\tanswer\tcategory\n"
        "0\tWhat is 2 + 2?\t3\t4\t5\t6\tB\tmathematics\n"
        "1\tWho wrote Faust?\tGoethe\tSchiller\tKant\tHeine\tA\tliterature\n"
    )
    (run,) = evaluate(["random"], [str(file)], out=tmp_path / "out", html=False).runs
    assert run.report().summary.n == 2
    assert all(record.media == () for record in run.records())
