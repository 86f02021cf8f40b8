"""Which letters a model prefers, what it refuses, and what it could reach if it refused nothing
(MMBench Fig. 4, Sec. 5.3 and Table 4)."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from snellen.core.answer import Found, Refused
from snellen.core.record import Pass, Record
from snellen.core.run import RunInfo


class Refusals(NamedTuple):
    """Refused passes among all passes of a category."""

    refused: int
    passes: int


class Choices(NamedTuple):
    """Findings over every pass of a run's multiple-choice questions.

    `predicted` and `gold` count labels; `upper_bound` is the accuracy in percent if every refused
    pass had been right, beside `accuracy` over the same questions. None where nothing is scored.
    """

    passes: int
    predicted: Mapping[str, int]
    gold: Mapping[str, int]
    refused: Refusals
    refusals: Mapping[str, Refusals]
    accuracy: float | None
    upper_bound: float | None


def censored(run: RunInfo) -> str | None:
    """Why a run cannot show its choices, or None: early stop leaves out the later passes of just
    those questions that were answered wrong."""
    if run.config.parameters.get("circular") == "early":
        return "censored by early stop; ask every pass with --circular full"
    return None


def choices(records: Iterable[Record], group: str = "category") -> Choices:
    """Letters, refusals by `group`, and the upper bound; failed and missing are left out."""
    predicted: Counter[str] = Counter()
    gold: Counter[str] = Counter()
    refused: Counter[str] = Counter()
    asked: Counter[str] = Counter()
    outcomes: dict[str, list[float]] = defaultdict(list)
    for record in records:
        if record.kind != "choice" or record.unscored in ("failed", "missing"):
            continue
        label = record.groups.get(group, "")
        for one in record.passes:
            asked[label] += 1
            refused[label] += isinstance(one.answer, Refused)
            gold.update(one.gold[:1])
            if isinstance(one.answer, Found):
                predicted[one.answer.value] += 1
        if record.score is not None:
            outcomes["score"].append(record.score)
            outcomes["bound"].append(float(all(_right_or_refused(one) for one in record.passes)))
    return Choices(
        passes=asked.total(),
        predicted=dict(sorted(predicted.items())),
        gold=dict(sorted(gold.items())),
        refused=Refusals(refused.total(), asked.total()),
        refusals={label: Refusals(refused[label], asked[label]) for label in sorted(asked)},
        accuracy=_percent(outcomes["score"]),
        upper_bound=_percent(outcomes["bound"]),
    )


def _right_or_refused(one: Pass) -> bool:
    return bool(one.correct) or isinstance(one.answer, Refused)


def _percent(scores: Sequence[float]) -> float | None:
    return 100 * sum(scores) / len(scores) if scores else None
