"""Letters, refusals and the upper bound, by hand and through the command."""

from __future__ import annotations

import json
import random
from pathlib import Path

import msgspec
import pytest

from snellen import evaluate
from snellen.analysis.findings.choices import OVER_ROTATIONS, WRONG_CHOICES, Refusals, choices
from snellen.cli import main
from snellen.core.benchmark import Variant
from snellen.core.output import Generated, ParsedAnswer, Refused
from snellen.core.record import Pass, Record
from snellen.stats.intervals import wilson


def one(answer: str | None, gold: str, labels: str = "AB") -> Pass:
    read = ParsedAnswer(answer, "bare label") if answer else Refused("phrase")
    options = dict.fromkeys(labels, "x")
    reply = Generated(answer or "I cannot help.")
    return Pass((), reply, read, (gold,), answer == gold, options=options)


def record(number: int, score: float, *passes: Pass, category: str = "c") -> Record:
    groups = {"category": category}
    options = passes[0].options
    return Record(str(number), "choice", "q", "answered", score, groups=groups, passes=passes, options=options)


def test_letters_refusals_and_the_bound() -> None:
    found = choices(
        [
            record(1, 1.0, one("A", "A"), one("B", "B")),
            record(2, 0.0, one(None, "A"), one("B", "B"), category="faces"),
            record(3, 0.0, one("A", "B"), one(None, "A"), category="faces"),
            Record("4", "choice", "q", "failed", unscored="failed"),
        ]
    )
    assert found.passes == 6
    assert found.predicted == {"A": 2, "B": 2}
    assert found.gold == {"A": 3, "B": 3}
    assert found.refused == Refusals(2, 6)
    assert found.refusals == {"c": Refusals(0, 2), "faces": Refusals(2, 4)}
    assert round(found.accuracy or 0, 3) == 33.333
    assert round(found.upper_bound or 0, 3) == 66.667
    # The second and third question have one choice each, B and A: expected evenly, as seen.
    assert [one.excess for one in found.letters] == [0.0, 0.0]
    assert found.bias is not None
    assert (found.bias.statistic, found.bias.p) == (0.0, 1.0)


def rotated(number: int, said: list[str]) -> Record:
    """A question of as many options as passes; the gold stands in another place in each."""
    labels = "ABCD"[: len(said)]
    passes = [one(word, labels[at], labels) for at, word in enumerate(said)]
    return record(number, 0.0, *passes)


def test_a_preferred_place_is_found_by_number_of_options() -> None:
    found = choices([rotated(n, ["A", "A", "B"]) for n in range(20)] + [rotated(n, ["A", "B"]) for n in range(20, 30)])
    assert found.bias is not None
    assert found.test == OVER_ROTATIONS
    # 40, 20 and 0 against 20 each, over 20 questions that all differ alike from an even choice;
    # the questions of two options are even.
    assert found.bias.statistic == pytest.approx(2 * (20**2 + 20**2) / (20 * 2))
    assert (found.bias.freedom, found.bias.p < 0.001) == (2, True)
    excess = {one.label: one.excess for one in found.letters}
    assert excess == pytest.approx({"A": 20 / 80, "B": 0.0, "C": -20 / 80})


def test_no_letter_bias_for_a_model_that_follows_the_text() -> None:
    rng = random.Random(3)
    records = []
    for number in range(200):
        ahead = rng.randrange(4) if rng.random() < 0.5 else 0
        records.append(rotated(number, ["ABCD"[(turn + ahead) % 4] for turn in range(4)]))
    found = choices(records)
    assert found.bias is not None
    assert found.bias.p > 0.99


def test_letter_bias_only_if_one_letter_is_preferred_overall() -> None:
    """One letter in all passes of a question: another for each question, or A too often."""
    drawn = list("ABCD") * 75
    spread = choices([rotated(n, [letter] * 4) for n, letter in enumerate(drawn)])
    assert spread.bias is not None
    assert spread.bias.p > 0.05
    # Passes of a question are one cluster: as wide as 300 choices, not as 1,200.
    one = next(letter for letter in spread.letters if letter.label == "A")
    alone = wilson(drawn.count("A"), 300)
    assert one.interval is not None
    assert one.interval.high - one.interval.low > 0.95 * (alone.high - alone.low)
    drawn[:60] = ["A"] * 60
    held = choices([rotated(n, [letter] * 4) for n, letter in enumerate(drawn)])
    assert held.bias is not None
    assert held.bias.p < 0.001


def test_questions_that_cannot_be_rotated_do_not_change_the_test() -> None:
    turned = [rotated(n, ["A", "A", "B"]) for n in range(20)]
    lone = msgspec.structs.replace(record(99, 1.0, one("C", "C", "ABC")), asked_once=True)
    assert choices([*turned, lone]).bias == choices(turned).bias
    assert choices([*turned, lone]).predicted["C"] == 1


def test_questions_that_lack_a_rotation_are_left_out_of_the_test() -> None:
    turned = [rotated(n, ["A", "A", "B"]) for n in range(20)]
    short = msgspec.structs.replace(rotated(99, ["C", "C"]), options=dict.fromkeys("ABC", "x"))
    found = choices([*turned, short])
    assert (found.bias, found.test) == (choices(turned).bias, OVER_ROTATIONS)
    assert choices([short]).test == ""


def test_wrong_choices_are_tested_given_the_gold_letter() -> None:
    records = [record(n, 0.0, one("A", "B", "ABCD")) for n in range(30)]
    records += [record(n, 1.0, one("A", "A", "ABCD")) for n in range(30, 60)]
    records += [record(n, 0.0, one("B", "A", "ABCD")) for n in range(60, 75)]
    found = choices(records)
    assert found.bias is not None
    assert found.test == WRONG_CHOICES
    # 30, 0, 0 against 10 each, and 15, 0, 0 against 5 each.
    assert found.bias.statistic == pytest.approx(2 * 30 + 2 * 15)
    assert (found.bias.freedom, found.bias.draws) == (4, 0)
    excess = {one.label: one.excess for one in found.letters}
    assert excess == pytest.approx({"A": (60 - 40) / 75, "B": (15 - 5) / 75})


def test_the_commonest_gold_letter_does_not_look_avoided() -> None:
    """Wrong answers spread evenly over the other letters prefer none, however gold is spread."""
    records = []
    for gold, many in zip("ABCD", (40, 30, 20, 10), strict=True):
        others = [label for label in "ABCD" if label != gold]
        for at in range(9 * many):
            said = gold if at % 9 < 3 else others[at % 3]
            records.append(record(len(records), float(said == gold), one(said, gold, "ABCD")))
    found = choices(records)
    assert found.bias is not None
    assert found.bias.p > 0.99
    assert [one.excess for one in found.letters] == pytest.approx([0.0] * 4)


def test_several_accepted_letters_leave_fewer_wrong_ones() -> None:
    read = ParsedAnswer("A", "bare label")
    options = dict.fromkeys("ABCD", "x")
    passes = [Pass((), Generated("A"), read, ("B", "C"), False, options=options) for _ in range(40)]
    found = choices([record(n, 0.0, one) for n, one in enumerate(passes)])
    assert found.bias is not None
    assert (found.bias.statistic, found.bias.freedom) == (pytest.approx(40), 1)


def test_no_bias_test_with_two_options() -> None:
    assert choices([record(n, 0.0, one("A", "B")) for n in range(30)]).bias is None


def test_of_runs_with_early_stop_the_first_pass_counts(tmp_path: Path, capsys) -> None:
    for mode in ("early", "full"):
        evaluate(["random"], ["eyechart"], out=tmp_path, variant=Variant(circular=mode), limit=20, html=False)
    capsys.readouterr()
    assert main(["analyse", "letters", str(tmp_path), "-o", str(tmp_path / "letters.svg")]) == 0
    said = capsys.readouterr().out
    assert said.count("the first pass of each question alone") == 1
    assert "over all" in said
    assert (tmp_path / "letters.svg").read_text().startswith("<svg")
    assert main(["analyse", "letters", str(tmp_path), "--json"]) == 0
    letters, tests = json.loads(capsys.readouterr().out)["tables"]
    assert sum(row["gold"] for row in letters["rows"]) > 20
    assert len(tests["rows"]) == 2
    assert all(0 <= row["p"] <= row["Holm p"] <= 1 for row in tests["rows"])
    assert main(["analyse", "refusals", str(tmp_path), "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["tables"][0]["rows"]
    first, row = sorted(rows, key=lambda one: int(one["passes"]))
    assert first["passes"] < row["passes"]
    assert (row["refused"], row["score"]) == (0, row["upper bound"])
