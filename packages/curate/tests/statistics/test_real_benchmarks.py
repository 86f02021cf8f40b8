"""Real benchmark data, against published numbers and a count that shares no code with ours."""

from __future__ import annotations

import csv
import gzip
import json
import statistics as plain
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from snellen_curate.statistics.measuring import StatisticsOptions, measure_data

Golden = Callable[[str], Path]
UNSPACED = {("494", "B"): 111, ("494", "D"): 29, ("500", "B"): 42, ("511", "D"): 33}
"""Options of MMBench that are posts in Japanese and Chinese, by row and label, and their words
counted by hand; between white space they have 5, 21, 5 and 22."""
TEXTS_ONLY = StatisticsOptions(read_media=False, probe=0)


def test_random_chance_of_mathvista(golden: Golden, tmp_path: Path) -> None:
    """The leaderboard of MathVista has 17.9 for random choices on testmini; its Table 1 has 8 for
    the most options and 27 words for the longest answer of the whole data, which is in testmini."""
    with gzip.open(golden("mathvista_testmini/problems_testmini.jsonl.gz"), "rt") as file:
        problems = [json.loads(line) for line in file]
    rows = []
    for problem in problems:
        row = {"index": problem["pid"], "question": problem["question"], "type": "open"}
        row["answer"] = str(problem["answer"])
        if problem["question_type"] == "multi_choice":
            labels = dict(zip("ABCDEFGH", problem["choices"], strict=False))
            answer = "ABCDEFGH"[problem["choices"].index(problem["answer"])]
            row |= {"type": "choice", "answer": answer, **labels}
        rows.append(row)
    path = tmp_path / "testmini.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    statistics = measure_data(path, TEXTS_ONLY)
    assert statistics.kinds == {"choice": 540, "open": 460}
    assert round(100 * statistics.baselines.chance, 1) == 17.9
    assert max(statistics.options.counts) == 8
    assert statistics.words.answer is not None
    assert statistics.words.answer.max == 27


@pytest.mark.external_golden("mmbench_dev_llava15_13b")
def test_mmbench_by_another_count(golden: Golden) -> None:
    """MMBench's dev split without its hints: 1,176 questions, the rotations of which are rows."""
    path = golden("mmbench_dev_llava15_13b/predictions.csv")
    with path.open(encoding="utf-8", newline="") as file:
        rows = [row for row in csv.DictReader(file) if int(row["index"]) < 1_000_000]
    statistics = measure_data(path, TEXTS_ONLY)
    assert (statistics.items, statistics.rows) == (1_176, 4_377)
    questions = [len(row["question"].split()) for row in rows]
    options = [[row[label] for label in "ABCD" if row[label]] for row in rows]
    of_options = [
        UNSPACED.get((row["index"], label), len(row[label].split())) for row in rows for label in "ABCD" if row[label]
    ]
    words = statistics.words
    for ours, theirs in ((words.question, questions), (words.option, of_options)):
        assert ours is not None
        assert (ours.n, ours.min, ours.max) == (len(theirs), min(theirs), max(theirs))
        assert ours.mean == pytest.approx(plain.fmean(theirs))
        assert ours.deviation == pytest.approx(plain.pstdev(theirs))
    places = Counter(row["answer"] for row in rows)
    assert statistics.positions.by_place == tuple(places[label] for label in "ABCD")
    assert statistics.positions.is_alarm()
    right = unequal = 0
    for row, each in zip(rows, options, strict=True):
        lengths = [len(option.strip()) for option in each]
        if min(lengths) < max(lengths):
            unequal += 1
            right += len(row[row["answer"]].strip()) == max(lengths)
    longest = next(test for test in statistics.shortcuts if test.rule == "longest")
    assert (longest.n, longest.right) == (unequal, right)
    assert longest.is_alarm()


@pytest.mark.external_golden("mme_lavin")
def test_mme_is_balanced(golden: Golden) -> None:
    """MME (Sec. 2): each image has a question with yes and one with no. 1,187 images (MMT-Bench,
    Table A15), whose names are their subtask's own."""
    statistics = measure_data(golden("mme_lavin/predictions.csv"), TEXTS_ONLY)
    assert statistics.yes_no is not None
    assert (statistics.yes_no.yes, statistics.yes_no.no) == (1_187, 1_187)
    assert statistics.yes_no.p == 1.0
    assert statistics.baselines.frequent == pytest.approx(0.5)
