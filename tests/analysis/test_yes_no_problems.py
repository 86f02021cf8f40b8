"""MME's four problems: by hand, and on recorded replies of a real model."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable
from pathlib import Path

import pytest

import snellen
from snellen import score
from snellen.analysis.findings.judged_shares import judged_share
from snellen.analysis.findings.yes_no_problems import (
    Proportion,
    ReasonedError,
    problems,
    problems_by_group,
    reasoned_errors,
)
from snellen.api.reasoning_judge import judge_reasoning, read_sheet, write_sheet
from snellen.core.errors import DataError
from snellen.core.output import Generated, ParsedAnswer
from snellen.core.record import Pass, Record
from snellen.core.request import user


def asked(name: str, reply: str, answer: str | None, gold: str, unit: str = "", question: str = "Is it?") -> Record:
    one = Pass((user(),), Generated(reply), ParsedAnswer(answer, "official") if answer else None, (gold,))
    outcome = "answered" if answer else "unparsed"
    return Record(
        name,
        "yes_no",
        question,
        outcome,
        float(answer == gold),
        answer=answer,
        gold=(gold,),
        unit=unit,
        passes=(one,),
        groups={"category": name[0]},
    )


def test_counts_of_the_four_problems() -> None:
    records = [
        asked("a1", "Yes.", "Yes", "Yes", "a"),
        asked("a2", "Yes, it is.", "Yes", "No", "a"),
        asked("b1", "No", "No", "Yes", "b"),
        asked("b2", "No", "No", "No", "b"),
        asked("c1", "A man stands there.", None, "Yes", "c"),
        asked("c2", "Yes", "Yes", "No", "c"),
        Record("d", "yes_no", "q", "failed", unscored="failed"),
    ]
    found = problems(records)
    assert found.not_following == Proportion(1, 6)
    assert (found.contradictory, found.both_yes, found.both_no) == (Proportion(2, 2), 1, 1)
    assert (found.yes, found.gold_yes) == (Proportion(3, 5), Proportion(2, 5))
    assert found.yes_bias == pytest.approx(0.2)
    assert found.hallucinated == Proportion(2, 3)
    assert {name: one.yes for name, one in problems_by_group(records, "category").items()} == {
        "a": Proportion(2, 2),
        "b": Proportion(0, 2),
        "c": Proportion(1, 1),
    }
    assert problems([]).yes_bias is None


PLANTED = [
    ("Is it an office?", "Yes, this is a church, not an office.", "No", True),
    ("Is the sum 340?", "No, 85 + 255 = 340.", "Yes", True),
    ("Is there a red car?", "Yes, the car in the image is blue.", "No", True),
    ("Is it an office?", "Yes, this is an office with desks.", "No", False),
    ("Is the sum 340?", "No, 85 + 255 = 330.", "Yes", False),
    ("By James Cameron?", "Yes, it is by James Cameron, not by S. Lee.", "No", False),
]
"""Question, wrong reply, right answer, and whether the explanation supports the right answer."""


class Judge:
    """Knows the truth of the planted replies, and errs on a tenth of either kind; silent on one."""

    capabilities = snellen.Capabilities()
    identity = snellen.Identity("made", "judge")

    async def answer(self, request: snellen.Generate) -> str:
        text, number = request.text(), int(request.ref.sample.rpartition("/")[2])
        truth = next(broken for _, reply, _, broken in PLANTED if reply in text)
        if number == 119:
            return "I do not know."
        erring = number // len(PLANTED) % 10 == 9
        return f"Because.\nVerdict: {'right' if truth != erring else 'wrong'}"


def reasoned(count: int = 120) -> list[ReasonedError]:
    """More replies that fit the wrong answer than not."""
    records = []
    for number in range(count):
        question, reply, gold, broken = PLANTED[number % len(PLANTED)]
        if not broken or number % 2:
            answer = "No" if gold == "Yes" else "Yes"
            text = f"{question} Case {number}."
            records.append(asked(str(number), reply, answer, gold, question=text))
    return list(reasoned_errors(records, "run"))


def truth(error: ReasonedError) -> bool:
    return PLANTED[int(error.record.id) % len(PLANTED)][3]


def as_csv(rows: list[dict[str, str]]) -> str:
    text = io.StringIO()
    writer = csv.DictWriter(text, list(rows[0]))
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def test_the_share_of_broken_reasoning_is_corrected_for_the_judge(tmp_path: Path) -> None:
    errors = reasoned()
    assert len(errors) == 80
    verdicts = judge_reasoning(errors, Judge(), tmp_path / "store.sqlite")
    assert len(verdicts) == 79, "a reply of the judge without a verdict counts as neither"
    sheet = tmp_path / "sheet.csv"
    said = sum(verdicts.values())
    assert said < 30 < len(verdicts) - said
    assert write_sheet(errors, verdicts, sheet, each=30, seed=1) == said + 30
    with pytest.raises(DataError, match="holds no label yet"):
        read_sheet(sheet)
    rows = list(csv.DictReader(io.StringIO(sheet.read_text())))
    assert "verdict" not in rows[0]
    for row in rows:
        row["label"] = "Yes" if PLANTED[int(row["id"]) % len(PLANTED)][3] else "no"
    filled = tmp_path / "filled.csv"
    filled.write_text(as_csv(rows))
    labels = read_sheet(filled)
    share = judged_share(verdicts, labels)
    real = sum(truth(error) for error in errors if error.key in verdicts) / len(verdicts)
    assert share.corrected is not None
    low, high = share.corrected.interval.low, share.corrected.interval.high
    assert low <= real <= high
    # All that the judge calls broken are labelled: its precision is known exactly.
    called = [error for error in errors if verdicts.get(error.key)]
    assert share.confirmed == (sum(map(truth, called)), len(called))
    assert share.missed[0] > 0
    assert judged_share(verdicts, {}).corrected is None
    only_called = {error.key: truth(error) for error in called}
    assert judged_share(verdicts, only_called).corrected is None
    rows[0]["label"] = "perhaps"
    filled.write_text(as_csv(rows))
    with pytest.raises(DataError, match=r"'perhaps'.*expected yes or no"):
        read_sheet(filled)
    filled.write_text(",".join(["label", *(name for name in rows[0] if name != "label")]) + "\nyes\n")
    with pytest.raises(DataError, match="cannot be read as a sheet of labels: 'run'"):
        read_sheet(filled)


@pytest.mark.external_golden("mme_lavin")
def test_recorded_replies(golden: Callable[[str], Path]) -> None:
    found = problems(score("mme", golden("mme_lavin") / "predictions.csv").records)
    # The official script reads no yes or no in twelve replies.
    assert found.not_following == Proportion(12, 2374)
    assert (found.both_yes, found.both_no) == (319, 417)
    assert found.yes_bias == pytest.approx((1082 - 1182) / 2362)
    assert found.reasoned == Proportion(920, 920)
