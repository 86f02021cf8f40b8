"""What each rule picks, by hand, and the option lengths."""

from __future__ import annotations

import numpy as np
import pytest

from snellen_curate.statistics.shortcut_rules import choice_texts, pick_options, read_numbers, sorted_orders

PICKS = [
    ("longest", "", ["a", "bbb", "cc"], [1]),
    ("longest", "", ["aaa", "bbb", "cc"], [0, 1]),
    ("longest", "", [" a ", "b", "c"], []),
    ("shortest", "", ["a", "bbb", "c"], [0, 2]),
    ("most detailed", "", ["a bird", "a Red Kite (Milvus milvus)", "a plane"], [1]),
    ("most detailed", "", ["in 1912", "later", "in 1914"], [0, 2]),
    ("most detailed", "", ["red", "green"], []),
    ("most detailed", "", ["The first word", "the first word"], []),
    ("middle number", "", ["3", "1", "2", "4"], [0, 2]),
    ("middle number", "", ["$3.50", "$1,000", "$20"], [2]),
    ("middle number", "", ["3 cm", "1 cm", "2 m"], []),
    ("middle number", "", ["3", "1"], []),
    ("middle number", "", ["3", "1", "many"], []),
    ("most alike", "", ["red big dog", "red big cat", "blue big dog"], [0]),
    ("most alike", "", ["red", "green", "blue"], []),
    ("most alike", "", ["[1, 2, 3, 4]", "[1, 2, 3, 9]", "[1, 2, 8, 4]", "[7, 2, 3, 4]"], [0]),
    ("odd one out", "", ["a red dog", "a red cat", "two planes"], [2]),
    (
        "words of the question",
        "Who painted the yellow sunflowers?",
        ["Monet", "van Gogh, with sunflowers", "a painter"],
        [1],
    ),
    ("words of the question", "What is it?", ["is", "it", "on"], []),
    ("words of the question", "画中的花是什么颜色？", ["红花", "绿树"], [0]),
    ("largest box", "", ["[0, 0, 9, 9]", "[1, 1, 5, 5]", "[2,2,6,6]"], [0]),
    ("largest box", "", ["[0, 0, 9, 9]", "[5, 1, 5, 5]"], []),
    ("smallest box", "", ["[0, 0, 9, 9]", "1, 1, 5, 5", "[2, 2, 6, 6]"], [1, 2]),
    ("box at the border", "In 64 x 48 pixels", ["[1, 2, 64, 9]", "[0, 1, 5, 5]", "[2, 2, 9, 9]"], [0, 1]),
    ("box at the border", "", ["[1, 2, 64, 9]", "[2, 1, 5, 5]"], []),
    ("middle box", "", ["[0, 0, 2, 2]", "[4, 4, 6, 6]", "[8, 8, 10, 10]"], [1]),
    ("middle box", "", ["red", "[4, 4, 6, 6]"], []),
    ("all of the above", "", ["red", "green", "All of the above"], [2]),
    ("all of the above", "", ["红", "绿", "以上都是"], [2]),
    ("none of the above", "", ["red", "none of these", "all"], [1]),
    ("none of the above", "", ["红", "以上都不是"], [1]),
    ("none of the above", "", ["red", "all of the above"], []),
]


@pytest.mark.parametrize(("rule", "question", "options", "picks"), PICKS)
def test_shortcut_rules_pick_options(rule: str, question: str, options: list[str], picks: list[int]) -> None:
    found = pick_options(choice_texts([question], [options]), [rule])
    assert np.flatnonzero(found.options[0]).tolist() == picks
    assert found.counts.tolist() == [[len(picks)]]


def test_many_questions_are_picked_as_one_by_one() -> None:
    """Questions without options and with one among them, and options of several lines."""
    cases = [(question, options) for _, question, options, _ in PICKS]
    cases += [("", []), ("red?", ["a\nred dog", "b", ""]), ("", ["3"]), ("", ["x\nAll of the above", "y"]), ("", [""])]
    texts = choice_texts(*zip(*cases, strict=True))
    together = pick_options(texts)
    alone = [pick_options(choice_texts([question], [options])) for question, options in cases]
    assert (together.options == np.concatenate([each.options for each in alone], axis=1)).all()
    assert (together.counts == np.concatenate([each.counts for each in alone], axis=1)).all()
    assert (
        together.counts[:, texts.sizes > 0]
        == np.add.reduceat(together.options, together.starts[texts.sizes > 0], axis=1, dtype=np.int64)
    ).all()


@pytest.mark.parametrize(
    ("options", "numbers"),
    [
        (["1", "-2.5", "+3"], [1.0, -2.5, 3.0]),
        (["€1,250.50", "€3."], [1250.5, 3.0]),
        (["10%", "20%"], [10.0, 20.0]),
        (["−4", "4"], [-4.0, 4.0]),
        (["1", "two"], []),
        (["1 to 2", "3"], []),
        (["", "3"], []),
    ],
)
def test_reads_numbers_of_options(options: list[str], numbers: list[float]) -> None:
    assert read_numbers(options) == numbers


@pytest.mark.parametrize(
    ("options", "order"),
    [
        (["2", "10", "30"], 1),
        (["30", "10", "2"], -1),
        (["2", "30", "10"], 0),
        (["apple", "Bee", "cat"], 1),
        (["b", "a"], -1),
        (["a", "a"], 0),
        (["a"], 0),
        ([], 0),
    ],
)
def test_order(options: list[str], order: int) -> None:
    assert sorted_orders(choice_texts([""], [options]), [options]).tolist() == [order]


def test_orders_of_many_questions() -> None:
    options = [["b", "a"], [], ["1", "2", "10"], ["a"], ["a", "B", "c"], ["10", "9"], ["a", "c", "b"], []]
    assert sorted_orders(choice_texts([""] * 8, options), options).tolist() == [-1, 0, 1, 0, 1, -1, 0, 0]


def test_options_over_several_lines() -> None:
    texts = choice_texts(["", "", ""], [["a\nred dog", "b", ""], [], ["a b", "", "c"]])
    assert texts.option_terms == [["a", "red", "dog", "b"], [], ["a", "b", "c"]]
    assert texts.lengths.tolist() == [9, 1, 0, 3, 0, 1]
