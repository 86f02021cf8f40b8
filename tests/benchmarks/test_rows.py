"""Rows of the common layout to samples."""

from __future__ import annotations

import pytest

from snellen.benchmarks.declaration.rows import rows_to_samples
from snellen.core.errors import DataError
from snellen.core.sample import Row, Sample


def read(*rows: dict[str, str]) -> list[Sample]:
    return list(rows_to_samples(Row(number, cells) for number, cells in enumerate(rows)))


@pytest.mark.parametrize(
    ("cells", "kind", "gold"),
    [
        ({"question": "q", "A": "x", "B": "y", "answer": "B"}, "choice", ("B",)),
        ({"question": "q", "A": "x", "B": "y", "answer": "y"}, "choice", ("B",)),
        ({"question": "q", "A": "x", "B": "y", "answer": "(b)"}, "choice", ("B",)),
        ({"question": "q", "A": "x", "B": "y"}, "choice", ()),
        ({"question": "q", "answer": "yes"}, "yes_no", ("Yes",)),
        ({"question": "q", "label": "No"}, "yes_no", ("No",)),
        ({"question": "q", "answer": "a boat"}, "open", ("a boat",)),
        ({"question": "q", "answers": '["boat", "ship"]'}, "open", ("boat", "ship")),
        ({"question": "q", "answer": "yes", "type": "open"}, "open", ("yes",)),
        ({"prediction": "A", "answer": "C"}, "choice", ("C",)),
        ({"question": "q"}, "open", ()),
    ],
)
def test_kind_and_gold(cells: dict[str, str], kind: str, gold: tuple[str, ...]) -> None:
    (sample,) = read(cells)
    assert (sample.kind, sample.gold) == (kind, gold)


def test_options_may_be_many_have_an_empty_one_and_end_at_the_second_gap() -> None:
    cells = {"question": "q", **{label: label * 2 for label in "ABCDEFGHIK"}, "N": "lost"}
    assert list(read(cells)[0].options) == list("ABCDEFGHIK")


def test_groups_hint_and_id() -> None:
    (sample,) = read({"index": "5", "question": "q", "hint": "h", "category": "c", "l2-category": "d"})
    assert (sample.id, sample.hint) == ("5", "h")
    assert sample.groups == {"category": "c", "l2-category": "d"}


def test_rotations_held_as_rows_join_their_question() -> None:
    base = {"index": "7", "question": "q", "A": "x", "B": "y", "answer": "A"}
    turn = {"index": "1000007", "question": "q", "A": "y", "B": "x", "answer": "B"}
    (sample,) = read(turn, base)
    assert sample.id == "7"
    assert [(one.row, one.gold) for one in sample.rotations] == [("1000007", "B")]


def test_a_large_index_without_a_base_is_a_question_of_its_own() -> None:
    rows = [{"index": str(2_000_000 + i), "question": "q", "A": "x", "B": "y"} for i in range(2)]
    assert [sample.id for sample in read(*rows)] == ["2000000", "2000001"]


def test_large_id_with_another_question_is_not_a_rotation() -> None:
    rows = [
        {"index": "5", "question": "q", "A": "x", "B": "y"},
        {"index": "1000005", "question": "another", "A": "x", "B": "y"},
    ]
    assert [sample.id for sample in read(*rows)] == ["5", "1000005"]


@pytest.mark.parametrize(
    ("rows", "sentence"),
    [
        ([{"image": "abc"}], "row 1: no question"),
        ([{"question": "q", "A": "x", "B": "y", "answer": "F"}], "'F' is none of the options A, B"),
        ([{"id": "1", "question": "q"}, {"id": "1", "question": "r"}], "rows 1 and 2 have"),
    ],
)
def test_bad_rows_give_a_sentence(rows: list[dict[str, str]], sentence: str) -> None:
    with pytest.raises(DataError, match=sentence):
        read(*rows)
