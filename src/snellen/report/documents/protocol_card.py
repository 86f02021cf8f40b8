"""A benchmark's protocol card."""

from __future__ import annotations

import re
from collections.abc import Iterator

from snellen.analysis.cards import ProtocolCard
from snellen.benchmarks.declaration.evidence import evidence_of
from snellen.benchmarks.protocol.judging import JUDGE
from snellen.core.sample import Kind
from snellen.report import format as fmt
from snellen.report.document import Column, Document, EmptyLine, Line, Table, Verbatim
from snellen.report.findings.parsers import quality_lines
from snellen.report.judge_notes import card_judges_note


def card_lines(card: ProtocolCard) -> Iterator[tuple[str, str]]:
    """The parts of the protocol, each with its digest."""
    yield "prompt", f"digest {card.parts['prompt']}"
    yield "decoding", f"{card.decoding} (digest {card.parts['decoding']})"
    yield "media", f"{card.media} (digest {card.parts['media']})"
    yield "reader", f"{card.reader} (digest {card.parts['reader']})"
    yield from quality_lines(card.reader.split(", "), _kinds(card))
    if card.judge:
        yield "judge", f"{card.judge} (digest of its rubrics {card.parts['judge']})"
        if JUDGE in card.judge.split(", "):
            yield "judge's errors", card_judges_note(card.name)
    evidence = evidence_of(card.name)
    if evidence is not None:
        yield "evidence", f"{evidence.brief()} (snellen info {card.name} names the sources)"
    yield "metric", f"{fmt.metric_label(card.headline)} (digest {card.parts['metric']})"
    yield "data", f"{card.source or 'of your own'} (digest {card.parts['data']})"
    if card.published:
        yield "data file", card.published


def _kinds(card: ProtocolCard) -> Iterator[Kind]:
    """The kinds of question in the card, as far as its text shows them."""
    if re.search(r"^\(?A[.)] ", card.example, re.MULTILINE):
        yield "choice"
    if re.search(r"\byes\b.*\bno\b", card.example, re.IGNORECASE):
        yield "yes_no"


def card_document(card: ProtocolCard) -> Document:
    """The parts of the protocol, and the first request."""
    rows = [*card_lines(card), ("coverage", card.coverage)]
    rows += [(fmt.display_name(name), value) for name, value in sorted(card.parameters.items())]
    rows += [("paper", card.paper)] if card.paper else []
    rows.append(("card digest", card.digest))
    return Document(
        [
            Line(f"{card.name}, version {card.version}", "heading"),
            Line(card.title, "note"),
            Table("", [Column("part"), Column("value")], rows, on_terminal="lines"),
            EmptyLine(),
            Line("the first request", "heading"),
            Verbatim(card.example.splitlines()),
        ],
        data=card,
    )
