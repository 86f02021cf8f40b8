"""What a curve says, in sentences: better, a regression, no evidence of change, levelled off.

Every statement rests on intervals that hold all at once, so it does not matter which pair was
chosen by looking at the scores.
"""

from __future__ import annotations

from collections.abc import Sequence

from snellen.core.summary import Metric
from snellen.report import format as fmt
from snellen.tracking.curve import Change, CurvePoint, StepDifference

MIN_LATER = 3
"""Checkpoints after a step before anything is said about a plateau since then."""


def best_step(points: Sequence[CurvePoint]) -> int | None:
    """The step with the highest score, the first of equal ones; None without a score."""
    scored = [(point.score, -point.step) for point in points if point.score is not None]
    return -max(scored)[1] if scored else None


def classify_change(
    headline: Metric, earlier: Sequence[CurvePoint], differences: Sequence[StepDifference]
) -> tuple[Change, tuple[StepDifference, ...]]:
    """How a new point has changed, and by which differences: from the previous step, and from the
    best one so far if that is another.

    It is a regression if it is worse than either, and better if it is better than either and no
    regression.
    """
    if headline.value is None:
        return "no score", ()
    by_step = {difference.step: difference for difference in differences}
    if not by_step:
        return "first", ()
    best = best_step([point for point in earlier if point.step in by_step])
    steps = dict.fromkeys(step for step in (max(by_step), best) if step is not None)
    compared = tuple(by_step[step] for step in steps)
    if any(difference.is_worse for difference in compared):
        return "regression", compared
    return ("better" if any(one.is_better for one in compared) else "unclear"), compared


_CHANGES = {"better": "better", "regression": "regression", "unclear": "no evidence of change"}


def sentence(
    step: int, headline: Metric, change: Change, compared: Sequence[StepDifference], benchmark: str = ""
) -> str:
    """E.g. `step 1500: 61.2 (58.9–63.4), +2.1 over step 1000 (+0.3 to +3.9): better`; `benchmark`
    stands in front if given."""
    where = f"{benchmark}, step {step}" if benchmark else f"step {step}"
    if change == "no score":
        return f"{where}: no score{f' ({headline.note})' if headline.note else ''}"
    text = f"{where}: {fmt.score_with_interval(headline)}"
    for index, difference in enumerate(compared):
        name = f"step {difference.step}" + (", the best so far" if index else "")
        preposition = "over" if difference.difference > 0 else "against"
        text += f", {fmt.difference_text(difference.difference)} {preposition} {name} ({_interval(difference)})"
    if not compared:
        return text
    reasons = dict.fromkeys(one.reason for one in compared if _interval(one) == _NO_INTERVAL)
    return f"{text}: {_CHANGES[change]}" + "".join(f" ({reason})" for reason in reasons)


_NO_INTERVAL = "no interval"


def _interval(difference: StepDifference) -> str:
    if difference.low is None or difference.high is None:
        if not difference.difference and not difference.changed:
            return f"the same on all {fmt.plural(difference.n, 'sample')}"
        return _NO_INTERVAL
    low, high = fmt.difference_text(difference.low), fmt.difference_text(difference.high)
    return f"{low} to {high}"


def contenders(points: Sequence[CurvePoint]) -> list[int]:
    """The steps that no other step is better than beyond chance: the best one is among them, with
    the confidence of the curve."""
    beaten = set()
    for point in points:
        for difference in point.differences:
            if difference.is_better:
                beaten.add(difference.step)
            elif difference.is_worse:
                beaten.add(point.step)
    return [point.step for point in points if point.score is not None and point.step not in beaten]


def best_sentence(points: Sequence[CurvePoint]) -> str:
    """Which step is best, and which others may be; empty with fewer than two scores. `points` are
    those of a benchmark, by step."""
    best = best_step(points)
    scored = [point for point in points if point.score is not None]
    if best is None or len(scored) < 2:
        return ""
    headline = next(point.headline for point in scored if point.step == best)
    steps = contenders(points)
    text = f"the highest score is that of step {best}: {fmt.score_text(headline.value)}"
    if steps == [best]:
        return f"{text}, beyond chance above all others"
    if best not in steps:
        return f"{text}, though a comparison on shared samples is against it"
    others = [str(step) for step in steps if step != best]
    named = ", ".join(others[:6]) + (", ..." if len(others) > 6 else "")
    word = "steps" if len(others) > 1 else "step"
    return (
        f"{text}; {word} {named} may be as good. Chosen as the highest of {len(scored)}, it is too "
        "high on average: measure it again on other samples"
    )


def plateau_sentence(points: Sequence[CurvePoint]) -> str:
    """A sentence that scores have levelled off since an earlier step, and which gain over it is
    ruled out; empty unless `MIN_LATER` checkpoints came after that step. `points` are those of a
    benchmark, by step."""
    for index, point in enumerate(points):
        later = [
            difference
            for other in points[index + 1 :]
            for difference in other.differences
            if difference.step == point.step
        ]
        if len(later) < MIN_LATER:
            return ""
        if any(difference.is_better for difference in later):
            continue
        highs = [difference.high for difference in later]
        if any(high is None for high in highs):
            continue
        largest = max(high for high in highs if high is not None)
        return (
            f"none of the {len(later)} checkpoints since step {point.step} is better than it "
            f"beyond chance; a gain of more than {fmt.score_text(max(0.0, largest))} points over "
            "it is ruled out for all of them"
        )
    return ""
