"""What making questions came to."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct

from snellen.data_sets.decisions import Decision
from snellen.data_sets.step import Step
from snellen.report.document import Column, Document, Line, Table
from snellen.report.format import plural
from snellen_curate.spending import read_spending


class QuestionsResult(Struct, frozen=True, rename={"images": "pictures"}):
    """How many questions were made, of how much, and what was dropped."""

    folder: str
    images: int
    """Images, videos or captions that were looked at."""
    items: int
    failed: int
    """Those of which a request failed; the same call asks again."""
    by_rule: dict[str, int]
    """Images and questions that were dropped, by rule."""
    by_dimension: dict[str, int]
    """Questions that were kept, by dimension."""
    abort_reason: str = ""
    """Why no more was asked, such as a spent budget; empty if nothing stopped it."""
    sources: str = "picture"
    """What `images` counts: image, caption or video."""
    missing: dict[str, int] = {}
    """Images that a file of extractions says nothing about, by the extractor's name."""

    @property
    def is_complete(self) -> bool:
        return not self.failed and not self.abort_reason

    def counts(self) -> dict[str, object]:
        """The numbers for `step.json`."""
        return {
            f"{self.sources}s": self.images,
            "items": self.items,
            "failed": self.failed,
            "dropped": self.by_rule,
            "dimensions": self.by_dimension,
        }


def finish_questions(
    step: Step,
    images: int,
    by_dimension: dict[str, int],
    failed: int = 0,
    abort_reason: str = "",
    sources: str = "picture",
) -> QuestionsResult:
    """End a step, and say what it came to."""
    dropped = Counter(one.rule for one in step.decisions.values() if one.action == "drop")
    result = QuestionsResult(
        str(step.folder),
        images,
        sum(by_dimension.values()),
        failed,
        dict(sorted(dropped.items())),
        by_dimension,
        abort_reason,
        sources,
    )
    step.finish(result.counts(), "complete" if result.is_complete else "waiting")
    return result


def decide_once(step: Step, decision: Decision) -> None:
    """Log a decision, unless an earlier start of the step has logged it."""
    logged = step.decisions.get(decision.item)
    if logged is None or (logged.action, logged.rule) != (decision.action, decision.rule):
        step.decide(decision)


def questions_document(result: QuestionsResult) -> Document:
    """What was dropped and kept, and how it goes on."""
    rows = [("dropped", count, rule) for rule, count in result.by_rule.items()]
    rows += [("kept", count, dimension) for dimension, count in result.by_dimension.items()]
    columns = [Column("decision"), Column("count", "count"), Column("rule or dimension")]
    table = [Table("what became of them", columns, rows)] if rows else []
    lines = (Line(text, is_unbroken=True) for text in _sentences(result))
    missing = (
        Line(f"{count} of {plural(result.images, result.sources)} are not in {extractor}")
        for extractor, count in result.missing.items()
    )
    return Document([*missing, *table, *lines], result)


def _sentences(result: QuestionsResult) -> Iterator[str]:
    spending = read_spending(Path(result.folder))
    if spending.requests:
        yield f"spent so far: {spending.sentence()}"
    yield (f"{result.folder}: {plural(result.images, result.sources)}, {plural(result.items, 'question')}")
    if result.abort_reason:
        yield f"stopped: {result.abort_reason}; the same command goes on"
    elif result.failed:
        yield (
            f"{plural(result.failed, result.sources)} failed (see decisions.jsonl); the same "
            "command asks again, and writes the questions once none fails"
        )
