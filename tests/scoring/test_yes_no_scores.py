"""Yes/no answers to numbers."""

from __future__ import annotations

import pytest

from snellen.scoring.yes_no import NO, YES, PairScore, YesNoItem, YesNoReply, confusion, count_by_image, sum_images


def pair_score(judged: list[YesNoItem]) -> PairScore:
    return sum_images(count_by_image(judged))


def test_accuracy_counts_questions_and_accuracy_plus_images() -> None:
    found = pair_score([YesNoItem("a", True), YesNoItem("b", False), YesNoItem("a", True), YesNoItem("b", True)])
    assert (found.accuracy, found.accuracy_plus, found.score) == (75.0, 50.0, 125.0)
    assert (found.questions, found.images, found.incomplete) == (4, 2, 0)


def test_half_a_pair_counts_in_accuracy_alone() -> None:
    found = pair_score([YesNoItem("a", True), YesNoItem("a", True), YesNoItem("b", True), YesNoItem("b", None)])
    assert (found.accuracy, found.accuracy_plus) == (100.0, 100.0)
    assert (found.questions, found.images, found.incomplete) == (3, 1, 1)


def test_no_pair_score_without_a_pair() -> None:
    found = pair_score([YesNoItem("a", True)])
    assert (found.accuracy, found.accuracy_plus, found.score) == (100.0, None, None)
    assert pair_score([]).accuracy is None


def test_confusion_with_yes_positive() -> None:
    replies = [(YES, YES)] * 4 + [(YES, NO)] * 2 + [(NO, YES)] + [(NO, NO)] * 3
    found = confusion(YesNoReply(gold, answer) for gold, answer in replies)
    assert found[:4] == (4, 1, 3, 2)
    assert found.precision == pytest.approx(80.0)
    assert found.recall == pytest.approx(100 * 4 / 6)
    assert found.f1 == pytest.approx(100 * 8 / 11)
    assert (found.accuracy, found.yes_rate, found.n) == (70.0, 50.0, 10)


def test_unparsed_reply_is_wrong_and_not_a_positive_prediction() -> None:
    found = confusion([YesNoReply(YES, None), YesNoReply(NO, None)])
    assert found == (0, 0, 0, 1, 1)
    assert (found.f1, found.precision, found.accuracy, found.yes_rate) == (0.0, 0.0, 0.0, 0.0)


def test_f1_agrees_with_precision_and_recall() -> None:
    found = confusion([YesNoReply(YES, YES)] * 5 + [YesNoReply(YES, None)] * 3 + [YesNoReply(NO, YES)] * 2)
    mean = 2 * found.precision * found.recall / (found.precision + found.recall)
    assert found.f1 == pytest.approx(mean)
