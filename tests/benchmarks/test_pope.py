"""POPE: tracks, F1 with yes positive, and the published numbers of a real model."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from snellen import score
from snellen.benchmarks.perception.pope.benchmark import BENCHMARK as benchmark
from snellen.benchmarks.perception.pope.benchmark import parse_official, pope_samples
from snellen.core.benchmark import Variant
from snellen.core.output import Failure, Generated, Output, ParsedAnswer
from snellen.core.record import run_flow
from snellen.core.request import Request, Text
from snellen.core.sample import Row
from snellen.core.summary import Summary

Golden = Callable[[str], Path]


def summary_of(found: list[Row], answer: Callable[[Request], Output], **options: str) -> Summary:
    chosen = benchmark(Variant(options=options))
    return chosen.summarise([run_flow(chosen.flow(sample), answer) for sample in chosen.samples(found)])


def rows(*cells: tuple[str, str, str]) -> list[Row]:
    """(category, image, answer) each."""
    return [
        Row(at, {"index": str(at), "category": category, "image": image, "question": "Is there?", "answer": answer})
        for at, (category, image, answer) in enumerate(cells)
    ]


def test_llava_equals_the_official_scores(golden: Golden) -> None:
    home = golden("pope_llava15_13b")
    official = json.loads((home / "official_scores.json").read_text())
    found = score("pope", home / "predictions.csv", columns={"id": "split+question_id"}).summary
    mean = 0.0
    for track in ("adversarial", "popular", "random"):
        numbers = official[track]
        mean += 100 * numbers["f1"] / 3
        f1 = found.groups["category"][track]
        assert f1.value == pytest.approx(100 * numbers["f1"], abs=1e-9)
        assert f1.n == numbers["n"]
        counts = ", ".join(f"{name} {numbers[name]}" for name in ("TP", "FP", "TN", "FN"))
        assert f1.note == counts
        for ours, theirs in (
            ("accuracy", "accuracy"),
            ("precision", "precision"),
            ("recall", "recall"),
            ("yes_rate", "yes_ratio"),
        ):
            value = found.groups[ours][track].value
            assert value == pytest.approx(100 * numbers[theirs], abs=1e-9)
    assert found.headline.value == pytest.approx(mean, abs=1e-9)
    assert int(10 * mean) / 10 == official["published_mean_f1"]
    assert found.metrics["f1_official"].value == pytest.approx(mean, abs=1e-9)
    assert (found.n, found.notices) == (8910, ())


def test_own_columns_are_mapped_by_name(tmp_path: Path) -> None:
    path = tmp_path / "own.tsv"
    path.write_text("number\tcategory\tasked\tlabel\n7\tpopular\tIs there a cup?\tyes\n")
    columns = {"id": "number", "question": "asked", "answer": "label"}
    chosen = benchmark(Variant(data=str(path), columns=columns))
    (sample,) = chosen.samples(chosen.open())
    assert (sample.id, sample.question, sample.gold) == ("7", "Is there a cup?", ("Yes",))


def test_a_question_of_several_tracks_counts_once_in_each() -> None:
    found = rows(
        ("adversarial,popular,random", "a", "Yes"),
        ("adversarial", "a", "No"),
        ("popular", "a", "No"),
        ("random", "b", "No"),
    )
    replies = {"0": "Yes", "1": "Yes", "2": "No", "3": "No"}
    summary = summary_of(found, lambda request: Generated(replies[request.ref.sample]))
    values = {track: metric.value for track, metric in summary.groups["category"].items()}
    assert values == {"adversarial": pytest.approx(200 / 3), "popular": 100.0, "random": 100.0}
    assert summary.headline.value == pytest.approx((200 / 3 + 200) / 3)
    assert summary.metrics["f1_pooled"].value == pytest.approx(100 * 6 / 7)
    assert summary.n == 4


def test_scores_one_track_alone() -> None:
    found = rows(("adversarial,popular", "a", "Yes"), ("random", "a", "No"))
    summary = summary_of(found, lambda request: Generated("yes"), category="popular")
    assert list(summary.groups["category"]) == ["popular"]
    assert summary.n == 1
    assert "over popular alone" in summary.notices[0]


def test_a_run_that_has_no_samples_yet_has_no_number() -> None:
    summary = summary_of([], lambda request: Generated("yes"))
    assert (summary.headline.value, summary.n, summary.total) == (None, 0, 0)


def test_unparsed_reply_is_wrong_and_not_a_yes() -> None:
    found = rows(("random", "a", "Yes"), ("random", "a", "No"))
    summary = summary_of(found, lambda request: Generated("hard to say"))
    assert summary.headline.value == 0.0
    assert summary.metrics["accuracy"].value == 0.0
    assert summary.outcomes["unparsed"] == 2
    assert summary.groups["category"]["random"].note.endswith("unread no 1")
    # The published script finds no "no" here and takes it for a yes.
    assert summary.metrics["f1_official"].value == pytest.approx(200 / 3)


@pytest.mark.parametrize(
    ("reply", "said"),
    [
        ("Yes", "Yes"),
        ("No, there is not", "No"),
        ("There is not.", "No"),
        ("There is a dog. No cat.", "Yes"),
        ("NO", "Yes"),
        ("", "Yes"),
        ("I cannot see it", "Yes"),
    ],
)
def test_the_published_reading(reply: str, said: str) -> None:
    answer = parse_official(reply)
    assert isinstance(answer, ParsedAnswer)
    assert answer.value == said


def test_failures_are_left_out_and_bound_the_headline() -> None:
    found = rows(*[("random", "a", "Yes"), ("random", "b", "No")] * 2)

    def answer(request: Request) -> Output:
        if request.ref.sample == "0":
            return Failure("request", "gone")
        return Generated(found[int(request.ref.sample)].cells["answer"])

    summary = summary_of(found, answer)
    assert (summary.headline.value, summary.n) == (100.0, 3)
    assert summary.bounds is not None
    assert (summary.bounds.worst, summary.bounds.best) == (pytest.approx(200 / 3), 100.0)


@pytest.mark.parametrize(
    ("prompt", "ending"), [("plain", "Is there?"), ("short", "\nAnswer the question using a single word or phrase.")]
)
def test_question_is_asked_unchanged(prompt: str, ending: str) -> None:
    chosen = benchmark(Variant(options={"prompt": prompt}))
    (sample,) = chosen.samples(rows(("random", "a", "Yes")))
    part = next(chosen.flow(sample)).messages[0].parts[-1]
    assert isinstance(part, Text)
    assert part.text.endswith(ending)
    assert "yes or no" not in part.text


def test_tracks_in_the_column_split_and_units_by_image() -> None:
    cells = {"id": "1", "split": "random", "image": "x.jpg", "question": "q", "label": "yes"}
    (sample,) = pope_samples([Row(0, cells)])
    assert (sample.groups, sample.unit, sample.gold) == ({"category": "random"}, "x.jpg", ("Yes",))
