"""Statistics of whole data sets: a file counted by hand, the house's own numbers, planted data."""

from __future__ import annotations

import csv
import io
import json
import random
from collections.abc import Mapping, Sequence
from pathlib import Path

import planted
import pytest
from PIL import Image
from scipy import stats

from snellen import evaluate
from snellen.core.benchmark import Variant
from snellen.core.errors import UnknownName, UsageError
from snellen_curate.open_data import open_items
from snellen_curate.statistics import item_columns
from snellen_curate.statistics.measuring import StatisticsOptions, measure_data
from snellen_curate.statistics.results import DatasetStatistics
from snellen_curate.statistics.shortcuts import ChoiceQuestion, measure_shortcuts

Row = Mapping[str, object]


def write_rows(path: Path, rows: Sequence[Row]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


@pytest.fixture
def by_hand(tmp_path: Path) -> DatasetStatistics:
    """Choices, one with a wrong answer cell, yes/no, open, several right, Chinese, no answer; of
    40 x 20 that two rows share, one of 10 x 30, one that is no image."""
    Image.new("RGB", (40, 20)).save(tmp_path / "wide.png")
    Image.new("RGB", (10, 30)).save(tmp_path / "high.jpg")
    (tmp_path / "broken.png").write_bytes(b"no image")
    rows: list[Row] = [
        {
            "index": 1,
            "question": "What is red?",
            "A": "a dog",
            "B": "the cat",
            "answer": "A",
            "category": "colour",
            "source": "COCO",
            "license": "CC0",
            "image_path": "wide.png",
        },
        {
            "index": 2,
            "question": "How many birds fly?",
            "A": "1",
            "B": "2",
            "C": "3",
            "D": "40",
            "answer": "C",
            "category": "count",
            "source": "COCO",
            "image_path": "wide.png",
        },
        {
            "index": 3,
            "question": "How many birds fly?",
            "A": "4",
            "B": "5",
            "C": "5",
            "answer": "Z",
            "category": "count",
            "image_path": "high.jpg",
        },
        {"index": 4, "question": "Is it red?", "answer": "yes", "category": "colour", "image_path": "broken.png"},
        {"index": 5, "question": "Describe it.", "answer": "two red dogs", "category": "colour"},
        {"index": 6, "question": "这是什么？", "A": "红色", "B": "绿", "answer": "B", "category": "colour"},
        {
            "index": 7,
            "question": "Which are red?",
            "A": "x",
            "B": "y",
            "C": "z",
            "answer": "A,B",
            "type": "multi",
            "category": "colour",
        },
        {"index": 8, "question": "What now?", "A": "red", "B": "dog", "category": "colour", "hint": "Look twice."},
    ]
    return measure_data(write_rows(tmp_path / "hand.jsonl", rows))


def test_counts_by_hand(by_hand: DatasetStatistics) -> None:
    assert (by_hand.name, by_hand.rows, by_hand.items) == ("hand", 8, 8)
    assert by_hand.kinds == {"choice": 5, "multi": 1, "yes_no": 1, "open": 1}
    assert by_hand.distinct_questions == 7
    assert by_hand.unspaced == 1
    assert by_hand.missing == {
        "question": 0,
        "options": 0,
        "option text": 0,
        "answer": 1,
        "image or video": 4,
        "source": 6,
        "licence": 7,
        "readable image or video": 1,
        "valid row": 1,
    }
    # what is red how many birds fly it describe which are now; look twice
    # a dog the cat, 1 2 3 40, 4 5, x y z; 这是什么红色绿
    assert by_hand.distinct_words == 12 + 2 + 4 + 4 + 2 + 3 + 7


def test_words_by_hand(by_hand: DatasetStatistics) -> None:
    question, option, answer = by_hand.words.question, by_hand.words.option, by_hand.words.answer
    assert question is not None
    assert option is not None
    assert answer is not None
    lengths = [3, 4, 4, 3, 2, 4, 3, 2]
    assert question.n == 8
    assert question.mean == pytest.approx(sum(lengths) / 8)
    assert question.deviation == pytest.approx(stats.tstd(lengths) * (7 / 8) ** 0.5)
    assert (question.min, question.max, question.quantiles[2]) == (2, 4, 3)
    of_options = [2, 2, 1, 1, 1, 1, 1, 1, 1, 2, 1, 1, 1, 1, 1, 1]
    assert (option.n, option.mean) == (16, pytest.approx(sum(of_options) / 16))
    # a dog; 3; Z, which is no option; yes; two red dogs; 绿; A, B as they stand
    assert (answer.n, answer.mean) == (7, pytest.approx((2 + 1 + 1 + 1 + 3 + 1 + 2) / 7))
    assert by_hand.words.hint is not None
    assert by_hand.words.hint.mean == 2


def test_options_by_hand(by_hand: DatasetStatistics) -> None:
    options = by_hand.options
    assert options.counts == {2: 3, 3: 2, 4: 1}
    assert options.equal == 1
    # a dog, the cat; 1 2 3 40; 红色 绿; x y z. Only red, dog descend.
    assert (options.ascending, options.descending) == (4, 1)
    assert options.sorted_expected == pytest.approx(3 + 2 * (2 / 6) + 2 / 24)
    assert options.length_ratio is not None
    assert options.length_ratio.mean == pytest.approx((7 / 5 + 2 + 1 + 2 + 1 + 1) / 6)


def test_media_by_hand(by_hand: DatasetStatistics) -> None:
    media, images = by_hand.media, by_hand.images
    assert (media.none, media.one_image, media.several_images, media.video) == (4, 4, 0, 0)
    assert images is not None
    assert (images.uses, images.distinct, images.unreadable) == (4, 3, 1)
    assert images.formats == {"PNG": 1, "JPEG": 1}
    width = images.measures["width"]
    assert (width.n, width.mean) == (2, 25)
    assert images.measures["width / height"].mean == pytest.approx((2 + 1 / 3) / 2)
    assert by_hand.videos is None


def test_guessing_by_hand(by_hand: DatasetStatistics) -> None:
    """Answers: 1/2, 1/4, a row whose answer is no option counts as 1/3, yes/no 1/2, 1/2; of 7."""
    baselines = by_hand.baselines
    assert baselines.n == 7
    assert baselines.chance == pytest.approx((1 / 2 + 1 / 4 + 1 / 3 + 1 / 2 + 1 / 2) / 7)
    assert baselines.circular == pytest.approx((1 / 4 + 1 / 256 + 1 / 27 + 1 / 2 + 1 / 4) / 7)
    assert by_hand.positions.counts == {2: (1, 1), 4: (0, 0, 1, 0)}
    assert by_hand.yes_no is not None
    assert (by_hand.yes_no.yes, by_hand.yes_no.no, by_hand.yes_no.p) == (1, 0, 1.0)


def test_groups_by_hand(by_hand: DatasetStatistics) -> None:
    groups = by_hand.groups
    sizes = {name: [(one.label, one.items) for one in every] for name, every in groups.items()}
    assert sizes == {
        "category": [("colour", 6), ("count", 2)],
        "source": [("", 6), ("COCO", 2)],
        "license": [("", 7), ("CC0", 1)],
    }
    count = groups["category"][1]
    assert count.words.question is not None
    assert count.words.option is not None
    assert (count.words.question.mean, count.words.option.mean, count.words.option.n) == (4, 1, 7)
    assert count.images == 2
    # Frequent place of each: of `colour` A or B 1 of 6 (5 with an answer) and yes; of `count` C.
    colour = (1 + 1) / 5
    assert by_hand.frequent_by_group["category"] == pytest.approx((colour + 1 / 2) / 2)


def test_numbers_of_a_run(tmp_path: Path) -> None:
    """Guessing on eyechart is what a run of it says, and statistics from the stream are those of
    the questions as a list."""
    statistics = measure_data("eyechart")
    (run,) = evaluate("random", "eyechart", out=tmp_path, html=False)
    metrics = run.summary.metrics
    assert 100 * statistics.baselines.chance == pytest.approx(metrics["chance"].value)
    assert 100 * statistics.baselines.frequent == pytest.approx(metrics["frequent"].value, abs=1.5)
    questions = [
        ChoiceQuestion(
            item.sample.question,
            list(item.sample.options.values()),
            list(item.sample.options).index(item.sample.gold[0]),
        )
        for item in open_items("eyechart")
        if item.sample.kind == "choice"
    ]
    listed = measure_shortcuts(questions)
    assert [(test.rule, test.n, test.right, test.p) for test in statistics.shortcuts] == [
        (test.rule, test.n, test.right, test.p) for test in listed
    ]


def test_circular_chance_of_rotated_questions(tmp_path: Path) -> None:
    statistics = measure_data("eyechart")
    (run,) = evaluate("random", "eyechart", out=tmp_path, html=False, variant=Variant(circular="full"))
    metrics = run.summary.metrics
    assert 100 * statistics.baselines.circular == pytest.approx(metrics["chance"].value)
    same_text = metrics["chance_same_text"].value
    assert 100 * statistics.baselines.circular_same_text == pytest.approx(same_text)


def test_rotated_rows_are_one_item(tmp_path: Path) -> None:
    built = planted.build(tmp_path)
    plain, rotated = measure_data(built.data), measure_data(built.rotated)
    assert rotated.rows > rotated.items == plain.items
    assert rotated.words == plain.words


def test_statistics_by_columns(tmp_path: Path) -> None:
    rows = [
        {"index": n, "question": "What?", "A": "a", "B": "b", "answer": "AB"[n % 2], "maker": f"m{n % 3}", "tag": n}
        for n in range(30)
    ]
    path = write_rows(tmp_path / "by.jsonl", rows)
    statistics = measure_data(path, StatisticsOptions(by=["maker"]))
    assert [(one.label, one.items) for one in statistics.groups["maker"]] == [("m0", 10), ("m1", 10), ("m2", 10)]
    with pytest.raises(UnknownName, match="unknown column 'makr'; did you mean maker"):
        measure_data(path, StatisticsOptions(by=["makr"]))


def test_a_column_of_too_many_labels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(item_columns, "MAX_LABELS", 10)
    rows = [{"index": n, "question": "What?", "answer": "x", "source": f"page {n}"} for n in range(30)]
    path = write_rows(tmp_path / "many.jsonl", rows)
    assert measure_data(path).groups == {}
    with pytest.raises(UsageError, match="--group source: the column has more than 10 different"):
        measure_data(path, StatisticsOptions(by=["source"]))


def planted_rows(folder: Path) -> list[dict[str, str]]:
    built = planted.build(folder)
    with built.data.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file, delimiter="\t"))
    return [{name: cell for name, cell in row.items() if name != "image_path"} for row in rows]


def options_of(row: Mapping[str, str]) -> list[str]:
    return [letter for letter in "ABCD" if row[letter]]


def write_planted(path: Path, rows: Sequence[Mapping[str, str]]) -> Path:
    text = io.StringIO()
    writer = csv.DictWriter(text, list(rows[0]), delimiter="\t")
    writer.writeheader()
    writer.writerows(rows)
    path.write_text(text.getvalue(), encoding="utf-8")
    return path


NO_PROBE = StatisticsOptions(probe=0)


def test_planted_shortcuts_are_found(tmp_path: Path) -> None:
    """Of the 77 MMBench-like items, 40 keys are moved to A; of 40 the right option gets longer."""
    rows = planted_rows(tmp_path)
    clean = measure_data(write_planted(tmp_path / "clean.tsv", rows), NO_PROBE)
    assert not clean.positions.is_alarm()
    assert not any(test.is_alarm() for test in clean.shortcuts)
    for row in rows[:40]:
        row["A"], row[row["answer"]] = row[row["answer"]], row["A"]
        row["answer"] = "A"
    moved = measure_data(write_planted(tmp_path / "moved.tsv", rows), NO_PROBE)
    assert moved.positions.is_alarm()
    for row in rows[37:]:
        row[row["answer"]] += ", as far as can be seen"
    longer = measure_data(write_planted(tmp_path / "longer.tsv", rows), NO_PROBE)
    longest = next(test for test in longer.shortcuts if test.rule == "longest")
    assert longest.is_alarm()
    assert longest.excess > 0.25


@pytest.mark.release
def test_clean_data_raise_no_more_alarms_than_they_may(tmp_path: Path) -> None:
    """The planted items with keys drawn anew, 200 times: places, rules and groups each stay at
    their level."""
    rows = planted_rows(tmp_path)
    places = rules = groups = 0
    for seed in range(200):
        draw = random.Random(seed)
        for row in rows:
            row["answer"] = draw.choice(options_of(row))
        statistics = measure_data(write_planted(tmp_path / f"{seed}.tsv", rows), NO_PROBE)
        places += statistics.positions.is_alarm()
        rules += any(test.is_alarm() for test in statistics.shortcuts)
        groups += any(
            group.positions.is_alarm() or any(test.is_alarm() for test in group.shortcuts)
            for group in statistics.groups["category"]
        )
    most = stats.binom.isf(0.01, 200, 0.05)
    assert places < most
    assert rules < most
    # Two families of tests, each at its level.
    assert groups < stats.binom.isf(0.01, 200, 0.0975)


def test_pages_and_records_are_counted_by_their_kind() -> None:
    data = Path(__file__).parents[4] / "src/snellen/benchmarks/data/eyechart_pages.tsv"
    assert measure_data(open_items(str(data)), StatisticsOptions()).kinds == {"fields": 50, "page": 120}
