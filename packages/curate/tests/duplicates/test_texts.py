"""Near-duplicate texts: what is normalised, what counts as near, and what MinHash misses."""

from __future__ import annotations

import random

import pytest
from datasketch import MinHash

from snellen_curate.duplicates.texts import (
    BAND_ROWS,
    BANDS,
    band_keys,
    differ_in_numbers,
    jaccard,
    match_bands,
    near_across,
    near_pairs,
    normalise_text,
    shared_ends,
    shingles,
    tokens,
)

EQUAL = [
    ("What is THIS?", "what is this"),
    ("Ｗｈａｔ　ｉｓ　ｔｈｉｓ？", "What is this?"),
    ("图中有几只猫？", "图中 有几只 猫"),
    ("它是（红色）吗?", "它是红色吗？"),
    ("the dog’s ball", "The dog's ball!"),
    ("naïve  café", "NAÏVE\ncafé"),
    ("ﬁgure", "figure"),
    ("Look! It's (red).", "look it's red"),
    ("What is 2+3?", "What is 2+3"),
]
DIFFERENT = [
    ("x + 1", "x - 1"),
    ("3.5 m", "35 m"),
    ("图中有几只猫？", "图中有几只狗？"),
    ("ram", "rām"),
    ("What is 10²?", "What is 102?"),
    ("A ∪ B", "A ∩ B"),
    ("f(x + 1)", "f(x) + 1"),
    ("f'(2)", "f(2)"),
    ("What is 5! here?", "What is 5 here?"),
    ("m + M", "M + m"),
    ("Is it A & B?", "Is it A # B?"),
    ("किताब", "कुतुब"),
]


@pytest.mark.parametrize(("one", "other"), EQUAL)
def test_texts_that_mean_the_same_are_equal(one: str, other: str) -> None:
    assert normalise_text(one) == normalise_text(other)


@pytest.mark.parametrize(("one", "other"), DIFFERENT)
def test_texts_that_differ_stay_different(one: str, other: str) -> None:
    assert normalise_text(one) != normalise_text(other)


def test_scripts_without_spaces_are_characters() -> None:
    assert tokens("有3只猫 in a box") == ["有", "3", "只", "猫", "in", "a", "box"]
    assert shingles(tokens("红色猫")) == {"红色", "色猫", "猫"}
    assert shingles(tokens("a red cat")) == {"a", "a red", "red", "red cat", "cat"}
    assert shingles([]) == frozenset()


@pytest.mark.parametrize(
    ("one", "other", "low", "high"),
    [
        ("Is there a dog in this image?", "Is there a cat in this image?", 0.0, 0.7),
        ("图中有几只猫？", "图中有几只狗？", 0.0, 0.7),
        (
            "Which of these is the largest in the picture? cup ball box",
            "Which of these is largest in the picture? Cup; ball; box",
            0.8,
            1.0,
        ),
        ("请仔细看图，图中一共有几个红色的圆形物体？", "请仔细看图，图中共有几个红色的圆形物体？", 0.8, 1.0),
    ],
)
def test_similarity_of_templates_and_near_duplicates(one: str, other: str, low: float, high: float) -> None:
    assert low <= jaccard(shingles(tokens(one)), shingles(tokens(other))) <= high


def test_numbers_make_another_question() -> None:
    three, four = tokens("Are there 3 dogs?"), tokens("Are there 4 dogs?")
    assert differ_in_numbers(three, four)
    assert not differ_in_numbers(three, tokens("are there 3 dogs"))


def made_texts(count: int, copies: int) -> list[frozenset[str]]:
    draw = random.Random(1)
    words = [f"w{number}" for number in range(2_000)]
    texts = [draw.choices(words, k=draw.randint(8, 25)) for _ in range(count)]
    for number in range(copies):
        copy = list(texts[number])
        copy[draw.randrange(len(copy))] = "changed"
        texts.append(copy)
    return [shingles(words) for words in texts]


def test_near_pairs_are_those_of_comparing_everything() -> None:
    sets = made_texts(400, 200)
    every = {
        (left, right)
        for left in range(len(sets))
        for right in range(left + 1, len(sets))
        if jaccard(sets[left], sets[right]) >= 0.7
    }
    found = {(one.left, one.right) for one in near_pairs(sets, 0.7)}
    assert found <= every
    # One in 700 of the pairs at the threshold is missed; nearly all are well above it.
    assert len(every) > 150
    assert len(found) >= len(every) - 1
    across = {(one.left, one.right) for one in near_across(sets[:400], sets[400:], 0.7)}
    assert across == {(left, right - 400) for left, right in found if left < 400 <= right}


def test_bands_agree_as_often_as_the_theory_says() -> None:
    """The share of pairs that no band finds, against the formula; and the Jaccard similarity,
    against datasketch's estimate."""
    draw = random.Random(2)
    pairs = []
    for number in range(600):
        shared = {f"s{number} {index}" for index in range(20)}
        one, other = ({f"{side}{number} {index}" for index in range(10)} for side in "lr")
        pairs.append((frozenset(shared | one), frozenset(shared | other)))
    lefts, rights = (list(side) for side in zip(*pairs, strict=True))
    found = match_bands(band_keys(lefts), band_keys(rights))
    missed = 1 - sum((index, index) in found for index in range(len(pairs))) / len(pairs)
    assert abs(missed - (1 - 0.5**BAND_ROWS) ** BANDS) < 0.05
    left, right = draw.choice(pairs)
    estimate = _datasketch(left).jaccard(_datasketch(right))
    assert abs(estimate - jaccard(left, right)) < 0.1


def _datasketch(texts: frozenset[str]) -> MinHash:
    sketch = MinHash(num_perm=512)
    sketch.update_batch([text.encode() for text in sorted(texts)])
    return sketch


def test_finds_shared_text_at_both_ends() -> None:
    things = [f"thing{number}" for number in range(40)]
    texts = [f"is there a {thing} in the image answer yes or no".split() for thing in things]
    own = ["what", "is", "this", "in", "the", "image", "answer", "yes", "or", "no"]
    ends = shared_ends([*texts, own])
    assert [words[first:last] for words, (first, last) in zip(texts, ends[:-1], strict=True)] == [
        [thing] for thing in things
    ]
    assert own[slice(*ends[-1])] == ["what", "is", "this"]
    assert shared_ends(texts[:10]) == [(0, len(words)) for words in texts[:10]]
    assert shared_ends([["same"]] * 30) == [(1, 1)] * 30


def test_texts_without_shingles_match_nothing() -> None:
    empty = [frozenset[str](), frozenset[str]()]
    assert near_pairs(empty, 0.1) == []
    assert match_bands(band_keys(empty), band_keys(empty)) == set()


def test_keys_are_the_same_in_every_process() -> None:
    assert band_keys([shingles(["a", "b"])])[0, :3].tolist() == FIRST_KEYS


FIRST_KEYS = [3820857796, 777167518, 1312269899]
"""Part of the index format: other keys would make written indexes useless."""
