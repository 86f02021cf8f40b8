"""The classifier of texts: its maximum against scipy, what it finds, and false alarms."""

from __future__ import annotations

import random

import numpy as np
import pytest
from scipy import optimize, stats

from snellen_curate.statistics.item_columns import SampledQuestion
from snellen_curate.statistics.results import ProbeScore
from snellen_curate.statistics.statistics_tables import better_than_chance
from snellen_curate.statistics.text_probe import FEATURES, MIN_PROBED, OptionRows, fit_choices, probe_texts

ANSWERS = ["red", "green", "blue", "dark green", "light blue", "yellow", "a warm orange"]
THINGS = ["circle", "square", "house", "bicycle", "mountain", "window"]


def made_questions(
    seed: int, n: int = 200, *, favourite: float = 0.0, first: float = 0.0, per_picture: int = 1
) -> list[SampledQuestion]:
    """Random options and keys; in a share of questions `red` is right if it is among the options,
    or the first option is."""
    draw = random.Random(seed)
    questions = []
    for index in range(n):
        options = draw.sample(ANSWERS, 4)
        right = draw.randrange(4)
        if "red" in options and draw.random() < favourite:
            right = options.index("red")
        if draw.random() < first:
            right = 0
        text = f"What colour is the {draw.choice(THINGS)}?"
        questions.append(SampledQuestion(str(index), text, options, right, index // per_picture))
    return questions


def rows_of(sizes: list[int], right: list[int]) -> OptionRows:
    return OptionRows.of(np.array(sizes), np.array(right))


def test_maximum_is_that_of_scipy() -> None:
    random_numbers = np.random.default_rng(3)
    sizes = random_numbers.integers(2, 6, 80).tolist()
    right = [int(random_numbers.integers(size)) for size in sizes]
    rows = rows_of(sizes, right)
    features = random_numbers.normal(size=(sum(sizes), 4))
    features[rows.right] += [1.0, 0.0, -0.5, 0.0]

    def loss(weights: np.ndarray) -> float:
        value = (weights**2).sum() / 2
        for start, size, chosen in zip(rows.starts, rows.sizes, rows.right, strict=True):
            utilities = features[start : start + size] @ weights
            value -= utilities[chosen - start] - np.log(np.exp(utilities).sum())
        return float(value)

    theirs = optimize.minimize(loss, np.zeros(4), tol=1e-12).x
    assert fit_choices(features, rows) == pytest.approx(theirs, abs=1e-4)


def test_separable_questions_have_finite_weights() -> None:
    rows = rows_of([2] * 30, [0] * 30)
    features = np.zeros((60, 1))
    features[rows.right] = 1e3
    assert np.isfinite(fit_choices(features, rows)).all()


def test_a_favourite_answer_is_learnt() -> None:
    probe = probe_texts(made_questions(1, 400, favourite=0.8))
    scores = {score.features: score for score in probe.scores}
    assert list(scores) == ["all", *FEATURES]
    assert scores["all"].p < 1e-4
    assert scores["words"].p < 1e-4
    assert scores["places"].p > 0.01
    assert (probe.items, probe.of, probe.folds) == (400, 400, 5)


def test_an_unbalanced_key_is_learnt() -> None:
    scores = {score.features: score for score in probe_texts(made_questions(2, first=0.4)).scores}
    assert scores["places"].p < 1e-4
    assert scores["words"].p > 0.01


def test_answer_given_the_question_is_learnt() -> None:
    """What is right depends on question and option together, and on neither alone."""
    draw = random.Random(0)
    right_of = dict(zip(THINGS, ["red", "green", "blue", "red", "green", "blue"], strict=True))
    questions = []
    for index in range(300):
        options = draw.sample(["red", "green", "blue"], 3)
        thing = draw.choice(THINGS)
        right = options.index(right_of[thing])
        questions.append(SampledQuestion(str(index), f"The {thing}?", options, right, index))
    score = probe_texts(questions).scores[0]
    assert score.share > 0.9


def test_yes_no_questions() -> None:
    questions = [
        SampledQuestion(str(index), "Is it red?", ["Yes", "No"], int(index % 5 == 0), index) for index in range(100)
    ]
    score = probe_texts(questions).scores[0]
    assert (score.right, score.chance) == (80, 0.5)


def test_questions_about_one_image_share_a_fold() -> None:
    """Each image has a colour of its own that is right in all of its questions: with folds that
    split images it would be learnt."""
    draw = random.Random(5)
    questions = []
    for image in range(60):
        for index in range(4):
            options = [f"word{1000 + image}", *(f"word{draw.randrange(2000, 9999)}" for _ in "ab")]
            draw.shuffle(options)
            right = options.index(f"word{1000 + image}")
            questions.append(SampledQuestion(f"{image}-{index}", "Which?", options, right, image))
    assert probe_texts(questions).scores[0].share < 0.5


def test_same_questions_same_numbers() -> None:
    assert probe_texts(made_questions(7)) == probe_texts(made_questions(7))


@pytest.mark.parametrize(
    ("questions", "message"),
    [
        (made_questions(0, MIN_PROBED - 1), "at least 50 questions, got 49"),
        (made_questions(0, 60, per_picture=60), "two clusters"),
    ],
)
def test_refuses_too_few_questions_for_the_probe(questions: list[SampledQuestion], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        probe_texts(questions)


@pytest.mark.release
def test_false_alarms_stay_below_the_level() -> None:
    """Random keys: over 200 sets the classifier is above chance in at most 5 of 100."""
    alarms = sum(
        probe_texts(made_questions(seed, 100, per_picture=1 + seed % 2)).scores[0].p <= 0.05 for seed in range(200)
    )
    assert alarms < stats.binom.isf(0.01, 200, 0.05)


def test_names_part_better_than_chance() -> None:
    """The whole classifier may lose among its features what one part of them finds."""

    def score(features: str, p: float) -> ProbeScore:
        return ProbeScore(features, 400, 130, 0.25, None, p)

    parts = [score("places", 0.005), score("lengths", 0.03), score("words", 0.9)]
    assert better_than_chance([score("all", 0.2), *parts]) == parts[:1]
    assert better_than_chance([whole := score("all", 0.04), *parts]) == [whole]
    assert better_than_chance([score("all", 0.2), *parts[1:]]) == []


def test_balanced_keys_are_no_shortcut() -> None:
    """Each of 20 texts is right three times. Who had the other keys could say which is due, and a probe that does
    answers half of these questions; who reads the texts alone cannot."""
    right = 0
    for seed in range(4):
        draw = random.Random(seed)
        golds = [f"thing {number}" for number in range(20)] * 3
        questions = []
        for index, gold in enumerate(golds):
            options = [gold, *draw.sample(sorted({*golds} - {gold}), 3)]
            draw.shuffle(options)
            questions.append(SampledQuestion(str(index), "Which is shown?", options, options.index(gold), index))
        words = next(score for score in probe_texts(questions).scores if score.features == "words")
        right += words.right
    assert right < 90, "60 of 240 by guessing"
