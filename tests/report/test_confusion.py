"""Gold answers against given ones."""

import msgspec
import pytest
from synthetic import record

from snellen.core.record import Record
from snellen.report.page.confusion import MAX_LABELS, OTHER, UNREAD, AnswerTally


def answered(gold: str, answer: str | None, kind: str = "choice", times: int = 1) -> list[Record]:
    score = float(gold == answer)
    outcome = "unparsed" if answer is None else "answered"
    sample = msgspec.structs.replace(
        record(1, False, ()), kind=kind, gold=(gold,), answer=answer, score=score, outcome=outcome
    )
    return [sample] * times


def tally(*records: list[Record]) -> AnswerTally:
    counted = AnswerTally()
    for group in records:
        for each in group:
            counted.add(each)
    return counted


def test_rows_are_gold_and_columns_are_answers():
    (table,) = tally(
        answered("A", "A", times=6), answered("A", "B", times=2), answered("B", "B", times=3), answered("B", None)
    ).tables()
    assert (table.title, table.samples) == ("multiple choice", 12)
    assert table.columns == ("A", "B", UNREAD)
    cells = {row.gold: [cell.samples for cell in row.cells] for row in table.rows}
    assert cells == {"A": [6, 2, 0], "B": [0, 3, 1]}
    assert [cell.is_right for cell in table.rows[1].cells] == [False, True, False]
    shares = {each.label: (each.gold, each.given) for each in table.shares}
    assert shares == {"A": (8, 6), "B": (4, 5), UNREAD: (0, 1)}


def test_of_several_right_answers_the_given_one_counts():
    both = msgspec.structs.replace(answered("A", "B")[0], gold=("A", "B"), score=1.0)
    (table,) = tally([both] * 10).tables()
    assert [(row.gold, row.samples) for row in table.rows] == [("B", 10)]


def test_rare_labels_are_counted_together():
    labels = [chr(ord("A") + at) for at in range(14)]
    records = [answered(label, label, times=20 - at) for at, label in enumerate(labels)]
    (table,) = tally(*records).tables()
    assert table.columns == (*labels[:MAX_LABELS], OTHER)
    assert table.rows[-1].gold == OTHER
    assert sum(row.samples for row in table.rows) == table.samples
    # Two rare labels are not the same answer.
    assert not table.rows[-1].cells[-1].is_right


def test_yes_and_no_have_a_table_of_their_own():
    tables = tally(answered("Yes", "No", "yes_no", 10), answered("A", "A", times=10)).tables()
    assert [table.title for table in tables] == ["multiple choice", "yes or no"]


@pytest.mark.parametrize("left_out", [{"score": None}, {"gold": ()}])
def test_samples_without_score_or_gold_are_left_out(left_out):
    sample = msgspec.structs.replace(answered("A", "B")[0], **left_out)
    assert tally([sample] * 20).tables() == []


def test_no_confusion_table_for_few_questions():
    assert tally(answered("A", "B", times=9)).tables() == []


def test_frequent_wrong_answers_to_open_questions():
    counted = tally(
        answered("cat", "car", "open", 3),
        answered("cat", "cat", "open", 5),
        answered("dog", "frog", "open"),
        answered("x" * 99, "y", "open", 4),
    )
    assert counted.mistakes() == [("cat", "car", 3)]
    assert counted.tables() == []


def test_places_are_in_no_table():
    counted = tally(answered("A", "A", kind="place", times=30))
    assert counted.tables() == []
    assert counted.mistakes() == []
