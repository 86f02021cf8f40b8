"""A model's reported number beside the one that was scored here."""

from __future__ import annotations

from typing import Any

from msgspec import Struct
from sqlalchemy import select
from sqlalchemy.orm import Session

from snellen.models.naming.catalog import find_entry
from snellen_hub.boards.columns import digits_of
from snellen_hub.boards.published import latest_scores
from snellen_hub.database.tables import Submission
from snellen_hub.public_scores import PublicNumber, public_score


class OtherNumber(Struct, frozen=True, omit_defaults=True):
    """The headline of another published submission of the same model."""

    submission: str
    evidence: str
    """As the kind of a `Submission`."""
    metric: str
    """Name of the headline."""
    headline: PublicNumber
    source: dict[str, Any] = {}
    other_protocol: str = ""


def read_other_numbers(session: Session, submission: Submission) -> tuple[OtherNumber, ...]:
    """Of a reported number those of the same model on the same board that were scored here, of one
    that was scored here the reported ones. Names are compared without case, and by the catalog's
    aliases."""
    is_reported = Submission.kind == "reported"
    query = select(Submission).where(
        Submission.benchmark_id == submission.benchmark_id,
        Submission.visibility == "published",
        ~is_reported if submission.kind == "reported" else is_reported,
    )
    same = [row for row in session.scalars(query) if _same_model(row.model, submission.model)]
    scores = latest_scores(session, [row.id for row in same])
    return tuple(
        OtherNumber(row.public_id, row.kind, score.name, score.headline, row.source, row.other_protocol)
        for row in same
        if row.id in scores
        for score in [public_score(scores[row.id])]
    )


class BothNumbers(Struct, frozen=True):
    """A reported number and the one that was scored here, as a sentence to translate."""

    submission: str
    """Public id of the other submission."""
    sentence: str
    values: dict[str, str]

    def text(self) -> str:
        """The sentence in English."""
        return self.sentence.format(**self.values)


_SENTENCES = {
    False: "Reported {reported} in {source}; scored here {scored}.",
    True: "Reported {reported} in {source}, by another protocol ({protocol}); scored here {scored}.",
}


def both_numbers(own: PublicNumber, submission: Submission, other: OtherNumber) -> BothNumbers:
    """The headline of a submission, `own`, and that of another submission of its model, such as:
    Reported 69.1 in MMBench, Table 11; scored here 68.7 (67.3–70.1)."""
    reported, scored, source = own, other.headline, submission.source
    protocol = submission.other_protocol
    if other.evidence == "reported":
        reported, scored, source = other.headline, own, other.source
        protocol = other.other_protocol
    parts = (str(source.get("title", "")), str(source.get("table", "")))
    values = {
        "reported": _value_text(reported),
        "scored": _text(scored),
        "source": ", ".join(filter(None, parts)) or "?",
        "protocol": protocol,
    }
    return BothNumbers(other.submission, _SENTENCES[bool(protocol)], values)


def _value_text(number: PublicNumber) -> str:
    return "–" if number.value is None else f"{number.value:.{digits_of(number.top)}f}"


def _text(number: PublicNumber) -> str:
    if number.low is None or number.high is None:
        return _value_text(number)
    digits = digits_of(number.top)
    return f"{_value_text(number)} ({number.low:.{digits}f}–{number.high:.{digits}f})"


def _same_model(one: str, other: str) -> bool:
    if one.lower() == other.lower():
        return True
    first, second = find_entry(one), find_entry(other)
    return first is not None and second is not None and first.name == second.name
