"""`snellen compare`: real runs side by side."""

from __future__ import annotations

import base64
import csv
import io
import json
import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from made_runs import Told, by_id, rows, run, write
from PIL import Image
from rich.console import Console

import snellen
from snellen.analysis.comparison.alignment import align_runs
from snellen.analysis.comparison.headlines import headlines
from snellen.analysis.comparison.paired import RunComparison, compare
from snellen.cli import main
from snellen.core.benchmark import Variant
from snellen.core.errors import UsageError
from snellen.report.documents.comparison import comparison_document, comparison_names, verdict, verdicts
from snellen.report.writers import write_text
from snellen.report.writers.terminal import print_document
from snellen.stats.paired import holm, mcnemar
from snellen.store.runs import find_runs


def pixel(number: int) -> str:
    """A picture of its own, in base64."""
    stream = io.BytesIO()
    Image.new("RGB", (4, 4), (number % 256, number // 256, 7)).save(stream, "PNG")
    return base64.b64encode(stream.getvalue()).decode()


PIXEL = pixel(5000)


def letters(correct: int, count: int) -> dict[str, str]:
    """Right on the first `correct` of `count` questions whose gold is A or B in turn."""
    golds = ["A" if number % 2 == 0 else "B" for number in range(count)]
    return {str(at): gold if at < correct else ("B" if gold == "A" else "A") for at, gold in enumerate(golds)}


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return write(tmp_path / "mine.tsv", rows(120))


def test_pair_is_compared_by_discordant_samples(data: Path, tmp_path: Path) -> None:
    worse = run(Told("worse", by_id(letters(60, 120))), data, tmp_path / "out")
    better = run(Told("better", by_id(letters(90, 120))), data, tmp_path / "out")
    found = compare([worse, better], ["worse", "better"])
    (pair,) = found.pairs
    assert (pair.first_score, pair.second_score) == (50.0, 75.0)
    assert pair.difference == pytest.approx(25.0)
    assert (pair.first_better, pair.second_better) == (0, 30)
    assert pair.test == "McNemar's score test"
    assert pair.p == pytest.approx(math.erfc(math.sqrt(30 / 2)))
    assert pair.p_exact == mcnemar(0, 30).exact
    assert pair.interval is not None
    assert pair.interval.low < 25 < pair.interval.high
    # The interval of the difference is far narrower than two Wilson intervals side by side.
    assert pair.interval.high - pair.interval.low < 16
    # Fewer find the far end of the interval, 33 points, than the near one, 18.
    assert pair.needed is not None
    assert pair.needed[0] < pair.needed[1] < 120
    (one,) = found.benchmarks
    assert [(place.run, place.rank, place.low, place.high) for place in one.places] == [
        ("worse", 2, 2, 2),
        ("better", 1, 1, 1),
    ]


def test_nearly_equal_runs_share_a_rank(data: Path, tmp_path: Path) -> None:
    first = run(Told("first", by_id(letters(60, 120))), data, tmp_path / "out")
    second = run(Told("second", by_id(letters(61, 120))), data, tmp_path / "out")
    (pair,) = compare([first, second], ["first", "second"]).pairs
    assert pair.p_holm is not None
    assert pair.p_holm > 0.3
    # The interval includes 0: any number of samples may be needed.
    assert pair.needed is None
    assert pair.detectable is None or pair.detectable > 0.8
    same = run(Told("same", by_id(letters(60, 120))), data, tmp_path / "out")
    (pair,) = compare([first, same], ["first", "same"]).pairs
    assert (pair.difference, pair.p, pair.detectable) == (0.0, 1.0, None)
    # That no answer differs among 120 does not mean that none ever would.
    assert pair.interval is not None
    assert (pair.interval.low, pair.interval.high) == (pytest.approx(-3.1, abs=0.05), pytest.approx(3.1, abs=0.05))


def test_many_inseparable_pairs_share_a_sentence(data: Path, tmp_path: Path) -> None:
    counts = {"a": 60, "b": 61, "c": 62, "d": 63, "far": 118}
    runs = [run(Told(name, by_id(letters(count, 120))), data, tmp_path / "out") for name, count in counts.items()]
    *better, alike = verdicts(compare(runs, list(counts)))
    assert [line.partition(" on ")[0] for line in better] == [f"far is better than {name}" for name in "dcba"]
    assert alike.startswith("mine: 6 pairs cannot be told apart: any two of a, b, c, d")
    # With `far` as the first, every pair is one of two far apart.
    assert len(list(verdicts(compare(runs[::-1], list(counts)[::-1], baseline=True)))) == 4
    # Three pairs have a sentence each.
    assert len(list(verdicts(compare(runs[:3], list(counts)[:3])))) == 3


def test_holm_runs_over_every_benchmark(data: Path, tmp_path: Path) -> None:
    other = write(tmp_path / "other.tsv", rows(40))
    runs, names = [], []
    for name, count in (("a", 60), ("b", 80), ("c", 70)):
        for table, share in ((data, count), (other, count // 3)):
            model = Told(name, by_id(letters(share, 120)))
            runs.append(run(model, table, tmp_path / "out"))
            names.append(name)
    found = compare(runs, names)
    assert len(found.pairs) == 6
    tested = [pair.p for pair in found.pairs if pair.p is not None]
    assert [pair.p_holm for pair in found.pairs] == holm(tested)
    assert len(tested) == 6
    assert [one.benchmark for one in found.benchmarks] == ["mine", "other"]
    first = compare(runs, names, baseline=True)
    assert {pair.first for pair in first.pairs} == {"a"}
    assert len(first.pairs) == 4


def test_the_group_that_differs_is_named(data: Path, tmp_path: Path) -> None:
    right = {str(at): "A" if at % 2 == 0 else "B" for at in range(120)}
    lost = {key: "C" if int(key) % 4 == 3 else value for key, value in right.items()}
    first = run(Told("whole", by_id(right)), data, tmp_path / "out")
    second = run(Told("lost", by_id(lost)), data, tmp_path / "out")
    (pair,) = compare([first, second], ["whole", "lost"]).pairs
    top = pair.groups[0]
    assert (top.column, top.label, top.difference, top.n) == ("category", "kind 3", -100.0, 30)
    assert top.p_holm < 1e-6
    assert all(one.difference == 0.0 for one in pair.groups[1:])


def test_samples_of_one_unit_count_together(tmp_path: Path) -> None:
    """Two questions about one picture, answered alike by each model: half as many clusters."""
    runs = eyechart_runs(tmp_path)
    together = align_runs(runs)
    assert together.is_clustered
    (pair,) = compare(runs, ["a", "b"]).pairs
    assert pair.clusters < pair.n
    assert (pair.test, pair.p_exact) == ("t test over clusters", None)


def eyechart_runs(tmp_path: Path) -> list[snellen.RunFolder]:
    results = snellen.evaluate(["random", "random:seed=1"], ["eyechart"], out=tmp_path / "out", html=False)
    return list(results.runs)


def test_failures_are_left_out_of_both(data: Path, tmp_path: Path) -> None:
    def failing(request: snellen.Generate) -> object:
        number = int(request.ref.sample)
        return snellen.Failure("request", "gone") if number < 20 else "A"

    whole = run(Told("whole", by_id({})), data, tmp_path / "out")
    part = run(Told("part", failing), data, tmp_path / "out")  # type: ignore[arg-type]
    found = compare([whole, part], ["whole", "part"])
    (pair,), (one,) = found.pairs, found.benchmarks
    assert (pair.n, one.unscored) == (100, 20)
    assert pair.difference == 0.0


def failing_on(numbers: range) -> Callable[[snellen.Generate], object]:
    def answer(request: snellen.Generate) -> object:
        number = int(request.ref.sample)
        return snellen.Failure("request", "gone") if number in numbers else "AB"[number % 2]

    return answer


def test_failures_bound_the_difference(data: Path, tmp_path: Path) -> None:
    good = run(Told("good", by_id(letters(110, 120))), data, tmp_path / "out")
    part = run(Told("part", failing_on(range(30))), data, tmp_path / "out")  # type: ignore[arg-type]
    found = compare([good, part], ["good", "part"])
    (pair,) = found.pairs
    assert pair.difference == pytest.approx(100 * 10 / 90)
    # Over all 120: 110 are right, against 90 to 120.
    assert pair.bounds is not None
    assert pair.bounds == pytest.approx((100 * (90 - 110) / 120, 100 * (120 - 110) / 120))
    assert "part is better than good" in verdict(pair, found)
    assert "not so if every sample that failed or is missing were against it" in verdict(pair, found)
    assert "would be –16.7" in verdict(pair, found)
    shown = to_markdown(found)
    assert "with failures" in shown
    assert "–16.7 to +8.3" in shown
    whole = compare([good, good], ["one", "again"])
    assert whole.pairs[0].bounds is None
    assert "with failures" not in to_markdown(whole)


def test_runs_may_be_equally_good_but_for_a_margin(data: Path, tmp_path: Path, capsys) -> None:
    for name, count in (("a", 100), ("b", 101), ("c", 40)):
        run(Told(name, by_id(letters(count, 120))), data, tmp_path / "out")
    out = str(tmp_path / "out")
    runs = find_runs(out)
    found = compare(runs, [one.info.model for one in runs], margin=10)
    by_name = {(pair.first, pair.second): pair for pair in found.pairs}
    alike, worse = by_name["a", "b"], by_name["b", "c"]
    assert alike.margin is not None
    assert alike.margin.equivalent_holm < 0.002
    # The two one-sided tests at 5 % are the 90 % interval.
    (ninety,) = compare(runs[:2], ["a", "b"], level=0.9).pairs
    assert ninety.interval is not None
    assert ninety.interval.low > -10
    assert ninety.interval.high < 10
    assert worse.margin is not None
    assert worse.margin.second_no_worse > 0.999
    assert worse.margin.first_no_worse_holm < 0.001
    told = {pair: verdict(pair, found) for pair in found.pairs}
    assert "b and a cannot be told apart" in told[alike]
    assert "; equivalent within 10 points (p = 0.0012, two one-sided tests)" in told[alike]
    assert "b is better than c" in told[worse]
    assert "no worse" not in told[worse]  # which goes without saying
    loose = compare(runs[:2], ["a", "b"], margin=3)
    assert "b is no worse than a by more than 3 points (p = 0.015, one-sided)" in verdict(loose.pairs[0], loose)
    narrow = compare(runs[:2], ["a", "b"], margin=0.5)
    assert "neither is shown to be no worse than the other by more than 0.5 points" in verdict(narrow.pairs[0], narrow)
    assert main(["compare", out, "--margin", "10", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["margin"] == 10.0
    for margin in ("0", "-1", "nan", "inf", "100"):
        assert main(["compare", out, "--margin", margin]) == 2
        said = capsys.readouterr().err
        assert said.count("\n") == 1
        assert "margin" in said


def test_groups_of_all_pairs_are_one_family(data: Path, tmp_path: Path) -> None:
    runs = [
        run(Told(name, by_id(letters(count, 120))), data, tmp_path / "out")
        for name, count in (("a", 60), ("b", 90), ("c", 75))
    ]
    found = compare(runs, ["a", "b", "c"])
    groups = [one for pair in found.pairs for one in pair.groups]
    assert len(groups) == 12
    adjusted = holm([one.p for one in groups if one.p is not None])
    assert [one.p_holm for one in groups] == adjusted
    alone = compare(runs[:2], ["a", "b"]).pairs[0].groups
    both = next(pair for pair in found.pairs if (pair.first, pair.second) == ("a", "b")).groups
    assert {one.label: one.p for one in alone} == {one.label: one.p for one in both}
    assert alone[0].p_holm is not None
    assert both[0].p_holm is not None
    assert both[0].p_holm >= alone[0].p_holm


def test_no_test_with_few_image_clusters(tmp_path: Path) -> None:
    """Two groups of one and of thirty pictures; one answer of the group of one picture differs."""
    poster = [{**row, "image": PIXEL, "category": "poster"} for row in rows(12)]
    many = [{**row, "index": str(12 + at), "image": pixel(at), "category": "many"} for at, row in enumerate(rows(30))]
    for table, clusters in ((poster, 1), ([*poster, *many], 31)):
        folder = tmp_path / str(clusters)
        folder.mkdir()
        data = write(folder / "mine.tsv", table)
        golds = {row["index"]: row["answer"] for row in table}
        runs = [
            run(Told(name, by_id(told)), data, folder / "out")
            for name, told in (("yes", golds), ("no", {**golds, "0": "C"}))
        ]
        (pair,) = compare(runs, ["yes", "no"]).pairs
        assert pair.clusters == clusters
        for group in pair.groups:
            assert (group.p is None) == (group.label == "poster")
        if clusters == 1:
            assert (pair.p, pair.p_holm, pair.interval) == (None, None, None)
            assert pair.reason.startswith("the samples form 1 cluster, and below 5")
            found = compare(runs, ["yes", "no"])
            assert {(one.low, one.high, one.first) for one in found.benchmarks[0].places} == {(None, None, None)}
            text = to_markdown(found)
            assert "the samples form 1 cluster" in text
            assert "| yes | **100.0** | 1 | – | – |" in text
            assert "p by" not in text
        else:
            assert pair.p == 1.0


def test_other_data_are_refused_in_one_sentence(data: Path, tmp_path: Path, capsys) -> None:
    changed = rows(120)
    changed[5]["question"] = "What else?"
    (tmp_path / "new").mkdir()
    newer = write(tmp_path / "new" / "mine.tsv", changed[:100])
    first = run(Told("first", by_id(letters(60, 120))), data, tmp_path / "out")
    second = run(Told("second", by_id(letters(80, 120))), newer, tmp_path / "out")
    with pytest.raises(UsageError, match="different data"):
        compare([first, second], ["first", "second"])
    assert main(["compare", str(first.path), str(second.path)]) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert "--common" in said
    found = compare([first, second], ["first", "second"], common=True)
    assert found.pairs[0].n == 99
    assert "99 of 120 samples are compared" in found.benchmarks[0].notices[0]


@pytest.mark.parametrize("flags", [[], ["--common"]])
def test_runs_without_a_common_question_are_not_sent_to_common(
    flags: list[str], data: Path, tmp_path: Path, capsys
) -> None:
    """Two benchmarks of one file name: no flag finds a question that both were asked."""
    (tmp_path / "new").mkdir()
    others = [{**row, "question": f"Other: {row['question']}"} for row in rows(100)]
    other = write(tmp_path / "new" / "mine.tsv", others)
    first = run(Told("first", by_id({})), data, tmp_path / "out")
    second = run(Told("second", by_id({})), other, tmp_path / "out")
    assert main(["compare", str(first.path), str(second.path), *flags]) == 2
    said = capsys.readouterr().err
    assert "made on different data" in said
    assert "share no question" in said
    assert "--common" not in said
    assert main(["compare", str(first.path), str(second.path), "--siblings"]) == 0


def test_a_limit_is_other_samples(data: Path, tmp_path: Path) -> None:
    first = run(Told("first", by_id({})), data, tmp_path / "out")
    second = run(Told("second", by_id({})), data, tmp_path / "out", limit=30)
    with pytest.raises(UsageError, match=r"30 are in all of them"):
        compare([first, second], ["first", "second"])
    assert compare([first, second], ["first", "second"], common=True).pairs[0].n == 30


def test_refuses_runs_without_a_common_benchmark(data: Path, tmp_path: Path) -> None:
    first = run(Told("first", by_id({})), data, tmp_path / "out")
    other = run(Told("other", by_id({})), write(tmp_path / "o.tsv", rows(9)), tmp_path / "out")
    with pytest.raises(UsageError, match="no two of the runs are of one benchmark"):
        compare([first, other], ["first", "other"])


def test_compare_command_prints_three_formats(data: Path, tmp_path: Path, capsys) -> None:
    for name, count in (("worse", 60), ("better", 90)):
        run(Told(name, by_id(letters(count, 120))), data, tmp_path / "out")
    out = str(tmp_path / "out")
    assert main(["compare", out]) == 0
    table = capsys.readouterr().out
    assert "worse – better" in table  # the runs come by name
    assert "better is better than worse on mine (p < 0.0001, McNemar's score test)" in table
    assert main(["compare", out, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["pairs"][0]["difference"] == pytest.approx(-25.0)
    assert main(["compare", out, "--format", "markdown"]) == 0
    assert capsys.readouterr().out == to_markdown(comparison(out))
    assert main(["compare", out, "--level", "5"]) == 2
    assert "--level 5" in capsys.readouterr().err


def to_markdown(comparison: RunComparison) -> str:
    return write_text(comparison_document(comparison), "markdown")


def comparison(out: str) -> RunComparison:
    runs = find_runs(out)
    return compare(runs, comparison_names(runs))


def test_runs_of_the_same_name_get_distinct_labels(data: Path, tmp_path: Path) -> None:
    short = run(Told("one", by_id({})), data, tmp_path / "a", variant=Variant(max_new_tokens=8))
    long = run(Told("one", by_id({})), data, tmp_path / "a", variant=Variant(max_new_tokens=9))
    again = run(Told("one", by_id({})), data, tmp_path / "b", variant=Variant(max_new_tokens=9))
    names = comparison_names([short, long, again])
    assert len(set(names)) == 3
    assert names[0] == f"one [{short.name[-8:]}]"
    assert names[1:] == [f"one [{long.path}]", f"one [{again.path}]"]


def test_long_names_are_not_folded_in_80_columns(data: Path, tmp_path: Path) -> None:
    names = [f"an-organisation-of-some-length/a-model-of-size-{at}b" for at in (3, 7)]
    runs = [run(Told(name, by_id({})), data, tmp_path, limit=4) for name in names]
    told = compare(runs, comparison_names(runs, shared_limit=False))
    lines = printed(told, 80)
    assert [f"{letter}: {name}" for letter, name in zip("AB", names, strict=True)] == [
        line for line in lines if line[1:2] == ":"
    ]
    assert sum(line.startswith("B – A ") for line in lines) == 1
    assert max(map(len, lines)) <= 80
    rows = list(csv.DictReader(write_text(comparison_document(told), "csv").splitlines()))
    assert [(row["first"], row["second"]) for row in rows] == [tuple(names)]


def printed(comparison: RunComparison, width: int) -> list[str]:
    file = io.StringIO()
    print_document(comparison_document(comparison), Console(file=file, width=width))
    return [line.rstrip() for line in file.getvalue().splitlines()]


def test_pairs_are_in_the_order_of_ranks(data: Path, tmp_path: Path) -> None:
    counts = {"a": 60, "b": 90, "c": 75}
    runs = [run(Told(name, by_id(letters(count, 120))), data, tmp_path) for name, count in counts.items()]
    shown = [line.split("  ")[0] for line in printed(compare(runs, list(counts)), 100)]
    assert [line for line in shown if " – " in line and len(line) == 5] == ["c – b", "b – a", "c – a"]


def test_shared_limit_is_left_out_of_labels(data: Path, tmp_path: Path) -> None:
    runs = [run(Told(name, by_id({})), data, tmp_path, limit=4) for name in ("one", "two")]
    assert comparison_names(runs) == ["one (limit 4)", "two (limit 4)"]
    assert comparison_names(runs, shared_limit=False) == ["one", "two"]
    whole = run(Told("one", by_id({})), data, tmp_path)
    told = comparison_names([*runs, whole], shared_limit=False)
    assert told == ["one (limit 4)", "two (limit 4)", "one"]


def test_mmes_sum_is_compared_image_by_image(tmp_path: Path) -> None:
    """Against MME's own summary: the same sums, and an interval about the difference."""
    from snellen.benchmarks.abilities.mme.subtasks import SUBTASKS

    table = [
        {
            "index": f"{name}-{image}-{question}",
            "image": f"{name}{image}",
            "question": f"Is it {question}? Please answer yes or no.",
            "answer": ("Yes", "No")[question],
            "category": name,
        }
        for name in SUBTASKS
        for image in range(12)
        for question in range(2)
    ]
    for number, row in enumerate(table):
        row["image"] = pixel(number // 2)
    data = write(tmp_path / "MME.tsv", table)
    draw = np.random.default_rng(1)
    wrong = {row["index"]: draw.random() for row in table}

    def at(share: float):
        return lambda request: ("Yes", "No")[int(request.ref.sample[-1]) ^ int(wrong[request.ref.sample] > share)]

    runs = [
        snellen.evaluate(
            [Told(name, at(share))], ["mme"], out=tmp_path / "out", html=False, variant=Variant(data=str(data))
        ).runs[0]
        for name, share in (("a", 0.7), ("b", 0.8))
    ]
    measure = headlines(runs, align_runs(runs))
    assert measure is not None
    assert (measure.unit, measure.top) == ("points", 2800.0)
    totals = [one.report().summary.headline.value for one in runs]
    assert measure.values == pytest.approx(totals)
    (pair,) = compare(runs, ["a", "b"]).pairs
    assert pair.difference == pytest.approx(totals[1] - totals[0])
    assert pair.interval is not None
    assert pair.interval.low < pair.difference < pair.interval.high
    assert pair.p < 0.01
