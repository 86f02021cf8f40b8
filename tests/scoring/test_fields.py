"""Records that replies give as JSON, compared with gold records field by field."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from snellen.scoring.fields import FieldCounts, compare_records, count_fields, is_same_value


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("1,234.50", 1234.5),
        ("$1,234.50", "1234.50"),
        ("12,50 €", "12.5"),
        ("1.234,56", "1234.56"),
        ("1'234.5", "1234.50"),
        ("1 234.5", "1234.50"),
        ("-3", -3.0),
        ("− 3", "-3"),
        ("RM 9.00", "9.00"),
        ("IDR 9,000", "9000"),
        ("2019-03-25", "25 March 2019"),
        ("25/03/2019", "2019/3/25"),
        ("Mar 25, 2019", "25.3.2019"),
        ("05/05/2020", "2020-05-05"),
        ("2020年3月9日", "9 mar 2020"),
        ("ACME  Corp.", "acme corp"),
        ("ＡＢＣ", "abc"),
        (True, "true"),
    ],
)
def test_same_values(one: Any, other: Any) -> None:
    assert is_same_value(one, other)
    assert is_same_value(other, one)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("03/04/2020", "2020-04-03"),  # the day cannot be told from the month
        ("2019-02-30", "2019-03-02"),
        ("$5", "€5"),
        ("0012", "12"),
        ("INV 123", "123"),
        ("A4", "4"),
        ("5 kg", "5"),
        ("1.234", "1234"),
        ("12", "12 items"),
        (1, True),
        ("nan", "NaN1"),
        ("1,23", "123"),
    ],
)
def test_different_values(one: Any, other: Any) -> None:
    assert not is_same_value(one, other)
    assert not is_same_value(other, one)


GOLD = {
    "company": "ACME Sdn Bhd",
    "total": "9.00",
    "items": [{"name": "tea", "price": "2.00"}, {"name": "cake", "price": "7.00"}],
    "tags": ["a", "b"],
    "note": "",
}


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        (GOLD, FieldCounts(8, 0, 0, 0)),
        ({}, FieldCounts(0, 0, 8, 0)),
        ([], FieldCounts(0, 0, 8, 0)),
        ({**GOLD, "total": 9}, FieldCounts(8, 0, 0, 0)),
        ({**GOLD, "total": "8.00", "vat": "0.50"}, FieldCounts(7, 1, 0, 1)),
        ({**GOLD, "items": GOLD["items"][::-1]}, FieldCounts(8, 0, 0, 0)),
        ({**GOLD, "items": [{"name": "cake", "price": "7"}]}, FieldCounts(6, 0, 2, 0)),
        ({**GOLD, "items": {"name": "tea"}}, FieldCounts(5, 0, 3, 0)),
        ({**GOLD, "tags": ["b", "c", "a"]}, FieldCounts(8, 0, 0, 1)),
        ({**GOLD, "total": None}, FieldCounts(7, 0, 1, 0)),
    ],
)
def test_counts_of_fields(reply: Any, expected: FieldCounts) -> None:
    assert count_fields(compare_records(reply, GOLD)) == expected


def test_f1_by_hand() -> None:
    counts = FieldCounts(right=3, wrong=1, missing=2, invented=1)
    precision, recall = 3 / 5, 3 / 6
    assert counts.f1() == pytest.approx(2 * precision * recall / (precision + recall))


values = st.recursive(
    st.none() | st.booleans() | st.integers(-99, 99) | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=2), inner, max_size=3),
    max_leaves=8,
)


@given(values, values)
def test_every_gold_field_has_one_result(reply: Any, gold: Any) -> None:
    counts = count_fields(compare_records(reply, gold))
    of_gold = count_fields(compare_records(gold, gold))
    assert of_gold == FieldCounts(of_gold.right, 0, 0, 0)
    assert counts.right + counts.wrong + counts.missing == of_gold.right
    of_reply = count_fields(compare_records(reply, reply)).right
    assert counts.right + counts.wrong + counts.invented == of_reply
