"""What making questions came to."""

from __future__ import annotations

from collections import Counter

from msgspec import Struct

from snellen.data_sets.decisions import Decision
from snellen.data_sets.step import Step


class QuestionsResult(Struct, frozen=True):
    """How many questions were made, of how much, and what was dropped."""

    folder: str
    pictures: int
    """Pictures, videos or captions that were looked at."""
    items: int
    failed: int
    """Those of which a request failed; the same call asks again."""
    by_rule: dict[str, int]
    """Pictures and questions that were dropped, by rule."""
    by_dimension: dict[str, int]
    """Questions that were kept, by dimension."""
    abort_reason: str = ""
    """Why no more was asked, such as a spent budget; empty if nothing stopped it."""
    sources: str = "picture"
    """What `pictures` counts: picture, caption or video."""
    missing: dict[str, int] = {}
    """Pictures that a file of extractions says nothing about, by the extractor's name."""

    @property
    def is_complete(self) -> bool:
        return not self.failed and not self.abort_reason

    def counts(self) -> dict[str, object]:
        """The numbers for `step.json`."""
        return {
            f"{self.sources}s": self.pictures,
            "items": self.items,
            "failed": self.failed,
            "dropped": self.by_rule,
            "dimensions": self.by_dimension,
        }


def finish_questions(
    step: Step,
    pictures: int,
    by_dimension: dict[str, int],
    failed: int = 0,
    abort_reason: str = "",
    sources: str = "picture",
) -> QuestionsResult:
    """End a step, and say what it came to."""
    dropped = Counter(one.rule for one in step.decisions.values() if one.action == "drop")
    result = QuestionsResult(
        str(step.folder), pictures, sum(by_dimension.values()), failed,
        dict(sorted(dropped.items())), by_dimension, abort_reason, sources,
    )  # fmt: skip
    step.finish(result.counts(), "complete" if result.is_complete else "waiting")
    return result


def decide_once(step: Step, decision: Decision) -> None:
    """Log a decision, unless an earlier start of the step has logged it."""
    logged = step.decisions.get(decision.item)
    if logged is None or (logged.action, logged.rule) != (decision.action, decision.rule):
        step.decide(decision)
