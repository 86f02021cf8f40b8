"""Words by hand, in scripts with and without spaces."""

from __future__ import annotations

import pytest

from snellen_curate.statistics.words import count_words, is_unspaced, split_all_terms, split_terms, split_words

WORDS = [
    ("", []),
    ("  What colour  is it? ", ["What", "colour", "is", "it?"]),
    ("[10, 20, 30, 40]", ["[10,", "20,", "30,", "40]"]),  # MMT-Bench, Table A14: 4.0
    ("curly ’quote’ — dash", ["curly", "’quote’", "—", "dash"]),
    ("这是什么颜色？", list("这是什么颜色")),
    ("使用GPU训练模型。", ["使", "用", "GPU", "训", "练", "模", "型"]),
    ("（A）红色，绿色", ["A", "红", "色", "绿", "色"]),
    ("時々コーヒー", ["時", "々", "コー", "ヒー"]),
    ("한국어 문장 입니다", ["한국어", "문장", "입니다"]),
    ("ที่นี่", ["ที่", "นี่"]),
    ("ភាសា", ["ភា", "សា"]),
    ("𠀀𠀁 x", ["𠀀", "𠀁", "x"]),
    ("Привет, мир", ["Привет,", "мир"]),
]


@pytest.mark.parametrize(("text", "words"), WORDS, ids=[text or "empty" for text, _ in WORDS])
def test_splits_words(text: str, words: list[str]) -> None:
    assert list(split_words(text)) == words
    assert count_words([text]) == [len(words)]


@pytest.mark.parametrize(("text", "unspaced"), [("plain", False), ("naïve", False), ("한국어", False), ("红", True)])
def test_scripts_without_spaces(text: str, unspaced: bool) -> None:
    assert is_unspaced(text) is unspaced


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("The Red, big-boned DOG's (3.5 m)", ["the", "red", "big", "boned", "dog", "s", "3.5", "m"]),
        ("1,000 of 12:30.", ["1,000", "of", "12:30"]),
        ("红色GPU。", ["红", "色", "gpu"]),
        ("?!", []),
    ],
)
def test_splits_terms(text: str, terms: list[str]) -> None:
    assert split_terms(text) == terms


def test_texts_together_are_split_as_one_by_one() -> None:
    texts = [text for text, _ in WORDS]
    texts += [
        "",
        "The Red, big-boned DOG's (3.5 m)",
        "two\nlines: 3",
        "3.14abc of .5",
        "\x1c_a_\u2028b\x00",
        "ΑΣ\nΟΔΟΣ",
        "",
    ]
    assert split_all_terms(texts) == [split_terms(text) for text in texts]
    assert split_all_terms(["one\ntwo"]) == [["one", "two"]]
    assert split_all_terms([]) == []
    assert count_words(texts) == [len(split_words(text)) for text in texts]
