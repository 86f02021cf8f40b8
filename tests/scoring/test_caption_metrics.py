"""BLEU, ROUGE-L and CIDEr beside numbers that the COCO tools' users published."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from snellen.scoring.captions.bleu import BleuCounts, bleu_counts
from snellen.scoring.captions.cider import DocumentFrequencies, cider, document_frequencies
from snellen.scoring.captions.rouge_l import rouge_l
from snellen.scoring.captions.tokenise import caption_words

Golden = Callable[[str], Path]
WORDS = st.lists(st.sampled_from("abcde"), max_size=8)
REFERENCES = st.lists(st.lists(st.sampled_from("abcde"), min_size=1, max_size=8), min_size=1, max_size=3)


def corpus_bleu(pairs: list) -> tuple[float, ...]:
    return sum((bleu_counts(*pair) for pair in pairs), BleuCounts()).scores()


def everything(said: list, golds: list) -> dict[str, float]:
    known = document_frequencies(golds)
    pairs = list(zip(said, golds, strict=True))
    return {
        **{f"bleu_{n}": value for n, value in enumerate(corpus_bleu(pairs), 1)},
        "rouge_l": sum(rouge_l(*pair) for pair in pairs) / len(pairs),
        "cider": sum(cider(*pair, known) for pair in pairs) / len(pairs),
    }


def test_numbers_of_nlg_evals_readme(golden: Golden) -> None:
    data = json.loads((golden("caption_tiny") / "tiny.json").read_text())["nlg_eval"]
    said = [one.split() for one in data["hyp"]]
    golds = [[one.split(), two.split()] for one, two in zip(data["ref1"], data["ref2"], strict=True)]
    assert everything(said, golds) == {
        "bleu_1": pytest.approx(0.550000, abs=1e-6),
        "bleu_2": pytest.approx(0.428174, abs=1e-6),
        "bleu_3": pytest.approx(0.284043, abs=1e-6),
        "bleu_4": pytest.approx(0.201143, abs=1e-6),
        "rouge_l": pytest.approx(0.522104, abs=1e-6),
        "cider": pytest.approx(1.242192, abs=1e-6),
    }


@pytest.mark.parametrize("which", ["good", "bad"])
def test_numbers_of_clipscores_readme(golden: Golden, which: str) -> None:
    data = json.loads((golden("caption_tiny") / "tiny.json").read_text())["clipscore"]
    images = list(data["refs"])
    found = everything(
        [caption_words(data[which][image]) for image in images],
        [[caption_words(one) for one in data["refs"][image]] for image in images],
    )
    expected = data[f"expected_{which}"]
    for order in range(1, 5):
        assert found[f"bleu_{order}"] == pytest.approx(expected[f"BLEU-{order}"], abs=5.1e-5)
    assert found["rouge_l"] == pytest.approx(expected["ROUGE"], abs=5.1e-5)
    assert found["cider"] == pytest.approx(expected["CIDER"], abs=5.1e-5)


def test_numbers_of_nlg_evals_own_test() -> None:
    said, golds = "this is a good test", ["this is a test", "this is also a test"]
    found = everything([said.split()], [[gold.split() for gold in golds]])
    assert found == {
        "bleu_1": pytest.approx(0.799999, abs=1e-6),
        "bleu_2": pytest.approx(0.632455, abs=1e-6),
        "bleu_3": pytest.approx(0.5108729, abs=1e-6),
        "bleu_4": pytest.approx(0.0000903602, abs=1e-9),
        "rouge_l": pytest.approx(0.9070631, abs=1e-6),
        "cider": 0.0,
    }


@pytest.mark.parametrize(
    ("caption", "reference", "expected"),
    [
        # The same words: every cosine is 1 (a scale of 10; n-grams of one word to four).
        ("a b c d", "a b c d", 10.0),
        # One word of seven that are the same: the cosine of single words alone is 1, and the
        # lengths differ by six, one sigma.
        ("a", "a a a a a a a", 10 * math.exp(-1 / 2) / 4),
        ("a a a a a a a a a a a a a", "a", 10 * math.exp(-2) / 4 / 13),
        # Half of the words: (1 * 1) / (sqrt 2 * sqrt 2), and of no pair.
        ("a b", "a c", 10 / 2 / 4),
        ("x", "a", 0.0),
    ],
)
def test_cider_from_the_formula(caption: str, reference: str, expected: float) -> None:
    """Two images, so that each n-gram of the first has the rarity log 2."""
    known = document_frequencies([[reference.split()], [["other"]]])
    assert cider(caption.split(), [reference.split()], known) == pytest.approx(expected)


def test_cider_of_words_that_both_images_have_is_nothing() -> None:
    golds = [[["a", "b"]], [["a", "c"]]]
    known = document_frequencies(golds)
    assert known.rarity(("a",)) == 0.0
    assert known.rarity(("b",)) == known.rarity(("nowhere",)) == pytest.approx(math.log(2))
    assert cider(["a"], golds[0], known) == 0.0


@pytest.mark.parametrize(
    ("caption", "words"),
    [
        ("A dog's bowl isn't here.", "a dog 's bowl is n't here"),
        ("It cannot be a T-shirt, can it?", "it can not be a t-shirt can it"),
        ('A sign says "STOP" (in red)...', "a sign says stop -lrb- in red -rrb-"),
        ("Mr. Smith of the U.S. paid $5, or 10%", "mr. smith of the u.s. paid $ 5 or 10 %"),
        ("At 10:30 o'clock, 2,000 people", "at 10:30 o'clock 2,000 people"),
        ("black/white A&amp;M -- 9-11", "black/white a&m 9-11"),
        ("two women\nand the girls' bags", "two women and the girls bags"),
        ("", ""),
    ],
)
def test_words_of_captions(caption: str, words: str) -> None:
    assert " ".join(caption_words(caption)) == words


@pytest.mark.external_golden("captions_magic")
def test_words_of_two_published_systems_and_their_references(golden: Golden) -> None:
    import gzip

    wrong = total = 0
    for name in ("flickr30k_magic", "mscoco_magic"):
        with gzip.open(golden("captions_magic") / f"{name}.jsonl.gz", "rt") as file:
            for row in map(json.loads, file):
                raw = [row["prediction"], *row["refs"]]
                split = [row["tok_prediction"], *row["tok_refs"]]
                pairs = list(zip(raw, split, strict=True))
                total += len(pairs)
                wrong += sum(list(caption_words(one)) != words.split() for one, words in pairs)
    assert (wrong, total) == (1, 35902)


@given(st.lists(st.tuples(WORDS, REFERENCES), min_size=1, max_size=6), st.integers(0, 6))
def test_counts_of_parts_add_up_to_the_whole(corpus: list, cut: int) -> None:
    counts = [bleu_counts(*pair) for pair in corpus]
    halves = sum(counts[:cut], BleuCounts()) + sum(counts[cut:], BleuCounts())
    assert halves.scores() == corpus_bleu(corpus)
    golds = [references for _, references in corpus]
    both = document_frequencies(golds[:cut]) + document_frequencies(golds[cut:])
    assert both == document_frequencies(golds)


@given(WORDS, REFERENCES)
def test_metrics_stay_in_their_range(said: list[str], golds: list[list[str]]) -> None:
    known = document_frequencies([golds, [["z"]]])
    assert 0 <= rouge_l(said, golds) <= 1.0 + 1e-12
    assert 0 <= cider(said, golds, known) <= 10 + 1e-9
    assert all(0 <= value <= 1 + 1e-6 for value in corpus_bleu([(said, golds)]))


@given(REFERENCES)
def test_a_reference_is_as_good_as_can_be(golds: list[list[str]]) -> None:
    assert rouge_l(golds[0], golds) == pytest.approx(1.0)


def test_a_caption_needs_references() -> None:
    with pytest.raises(ValueError, match="at least one reference"):
        bleu_counts(["a"], [])
    with pytest.raises(ValueError, match="at least one reference"):
        cider(["a"], [], DocumentFrequencies())
