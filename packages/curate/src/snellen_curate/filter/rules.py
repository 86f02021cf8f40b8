"""Rules that flag items by how many models answer them right, and what they flag by luck.

Each is named after the models it looks at, and has one number. A rule flags an item only if no
reply that is missing could change that. With few options and few models, it flags items by luck
alone: a guess among two options is right under CircularEval one time in four, and of three such
guesses two are right one time in six.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import IntEnum
from fractions import Fraction
from math import comb
from typing import Literal, NamedTuple

import numpy as np
from numpy import float64, int8, intp
from numpy.typing import NDArray

from snellen.benchmarks.protocol.flows import planned_passes
from snellen.core.errors import UnknownName, UsageError
from snellen.core.sample import Sample

ModelKind = Literal["text-only", "vision"]
KINDS: tuple[ModelKind, ...] = ("text-only", "vision")
"""`text-only`: asked without images; `vision`: asked with them."""
MODEL_FLAGS: Mapping[ModelKind, str] = {"text-only": "--text-only", "vision": "-m"}
"""The flags that name models of a kind."""

TEXT_MAJORITY, TEXT_MORE_THAN, TEXT_ALL, VISION_NONE = ("text-majority", "text-more-than", "text-all", "vision-none")


class Judgement(IntEnum):
    """What a rule says about an item."""

    KEEP = 0
    FLAG = 1
    UNDECIDED = 2
    """Too few models gave a reply."""


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule with its number."""

    form: str
    kind: ModelKind
    number: Fraction | None
    """A share of the models for `text-majority`, else a count of models; None if it takes none."""
    wording: str
    """What it flags, with `{number}`."""
    source: str

    @property
    def name(self) -> str:
        """The rule as it is typed; its usual number is left out."""
        if self.number == FORMS[self.form].number or self.number is None:
            return self.form
        return f"{self.form}:{_number_text(self.number)}"

    @property
    def sentence(self) -> str:
        if self.form == VISION_NONE and not self.number:
            return "no vision model is right"
        if self.form == TEXT_MAJORITY and self.number == Fraction(1, 2):
            return "more than half of the text-only models are right"
        number = "" if self.number is None else _number_text(self.number)
        return self.wording.format(number=number)

    @property
    def flags_right_answers(self) -> bool:
        """Whether it flags items that many models answer, not those that few do."""
        return self.kind == "text-only"

    def threshold(self, models: int) -> int:
        """Of this many models, the least number that must be right for a flag; of `vision-none`
        the largest number that may be."""
        if self.form == TEXT_ALL:
            return max(1, models)
        assert self.number is not None
        if self.form == TEXT_MAJORITY:
            return int(self.number * models) + 1
        count = int(self.number)
        return count if self.form == VISION_NONE else count + 1


FORMS = {
    rule.form: rule
    for rule in (
        Rule(
            TEXT_MAJORITY,
            "text-only",
            Fraction(1, 2),
            "more than {number} of the text-only models are right",
            "MMBench Sec. 3.2",
        ),
        Rule(
            TEXT_MORE_THAN,
            "text-only",
            Fraction(2),
            "more than {number} text-only models are right",
            "MMBench, appendix: more than two of three",
        ),
        Rule(TEXT_ALL, "text-only", None, "all text-only models are right", "SEED-Bench-H Sec. 3.4.1"),
        Rule(VISION_NONE, "vision", Fraction(0), "at most {number} vision models are right", "MMBench Sec. 3.2"),
    )
}
"""The rules with their usual numbers, by form."""


def parse_rule(text: str) -> Rule:
    """Parse `text-majority`, `text-majority:2/3`, `text-more-than:2`, `text-all` or `vision-none`.

    Raises UsageError, with what was expected.
    """
    name, colon, typed = text.strip().partition(":")
    if name not in FORMS:
        raise UnknownName("rule", name, list(FORMS))
    usual = FORMS[name]
    if not colon:
        return usual
    if usual.number is None:
        raise UsageError(f"rule {text!r}: {name} takes no number")
    try:
        number = Fraction(typed.strip().removesuffix("%")) / (100 if typed.endswith("%") else 1)
    except (ValueError, ZeroDivisionError):
        number = Fraction(-1)
    if name == TEXT_MAJORITY:
        if not 0 <= number < 1:
            raise UsageError(
                f"rule {text!r}: expected a share of the models from 0 to below 1, such as 0.5, 2/3 or 60%"
            )
    elif number < 0 or number.denominator != 1:
        raise UsageError(f"rule {text!r}: expected a number of models, such as {name}:{usual.number}")
    return replace(usual, number=number)


def check_rule(rule: Rule, models: int) -> None:
    """Raises UsageError if the rule has no models, or could flag nothing or everything."""
    if not models:
        raise UsageError(
            f"the rule {rule.name} needs {rule.kind} models: name some with "
            f"{MODEL_FLAGS[rule.kind]}, or runs of them with --runs"
        )
    threshold = rule.threshold(models)
    if rule.flags_right_answers and threshold > models:
        raise UsageError(
            f"the rule {rule.name} flags what more than {threshold - 1} models answer, and there "
            f"are {models}: it could flag nothing; name more models, or a smaller number"
        )
    if not rule.flags_right_answers and threshold >= models:
        raise UsageError(
            f"the rule {rule.name} flags what at most {threshold} of {models} models answer, which "
            "is everything; name more models, or a smaller number"
        )


def judge(
    rule: Rule, right: NDArray[intp], silent: NDArray[intp], models: int, min_replies: int | None = None
) -> NDArray[int8]:
    """The `Judgement` of each item, shape (items,).

    `right` and `silent` (items,) count the models that are right, and those without a reply. An
    item with silent models is judged if their replies could not change the judgement; or, with
    `min_replies`, by the replies of the others, if these are at least so many.
    """
    # What the rule says if the silent models were all wrong, and if they were all right.
    if_wrong = _flags(rule, right, np.full_like(right, models))
    if_right = _flags(rule, right + silent, np.full_like(right, models))
    judged = np.where(if_wrong == if_right, if_wrong, int(Judgement.UNDECIDED))
    if min_replies is not None:
        replies = models - silent
        enough = (judged == Judgement.UNDECIDED) & (replies >= max(1, min_replies))
        judged = np.where(enough, _flags(rule, right, replies), judged)
    return judged.astype(np.int8)


def _flags(rule: Rule, right: NDArray[intp], models: NDArray[intp]) -> NDArray[intp]:
    """1 where the rule flags an item of which `right` of `models` models are right, else 0."""
    largest = int(models.max(initial=0))
    thresholds = np.array([rule.threshold(count) for count in range(largest + 1)])[models]
    flagged = right >= thresholds if rule.flags_right_answers else right <= thresholds
    return flagged.astype(np.intp)


def default_rules(kinds: Sequence[ModelKind]) -> list[Rule]:
    """The rules of MMBench's Sec. 3.2 for these kinds of models."""
    names = {"text-only": TEXT_MAJORITY, "vision": VISION_NONE}
    return [FORMS[names[kind]] for kind in dict.fromkeys(kinds)]


def _number_text(number: Fraction) -> str:
    """A number as a reader types it: 2, 0.6 or 2/3."""
    short = f"{float(number):g}"
    return short if Fraction(short) == number else str(number)


_LEVEL = 0.95


class ExpectedFlags(NamedTuple):
    """The number of items flagged if every model guessed, each for itself."""

    mean: float
    low: int
    high: int
    """`low` to `high` holds at least 95 of 100 such numbers."""


class Guess(NamedTuple):
    """What a guess scores on an item: in one pass, and in how many passes it must be right."""

    once: float
    """From 0 to 1; 0 for open questions, which nobody guesses; NaN if the options are unknown."""
    passes: int


def guess_of(sample: Sample, circular: bool) -> Guess:
    """What guessing scores on a question, asked in all rotations if `circular`."""
    if sample.kind == "yes_no":
        return Guess(0.5, 1)
    if sample.kind != "choice":
        return Guess(0.0, 1)
    if not sample.options:
        return Guess(float("nan"), 1)
    accepted = max(1, len(set(sample.options) & set(sample.gold)))
    return Guess(accepted / len(sample.options), len(planned_passes(sample)) if circular else 1)


def flag_probabilities(rule: Rule, right: NDArray[float64], models: int) -> NDArray[float64]:
    """The probability that the rule flags each item if every one of `models` models is right with
    probability `right` (items,), independently. NaN stays NaN."""
    threshold = rule.threshold(models)
    counts = range(threshold, models + 1) if rule.flags_right_answers else range(threshold + 1)
    values, inverse = np.unique(right, return_inverse=True)
    flagged = [sum(comb(models, k) * p**k * (1 - p) ** (models - k) for k in counts) for p in values.tolist()]
    return np.array(flagged, dtype=np.float64)[inverse]


def expected_flags(probabilities: NDArray[float64], units: NDArray[intp]) -> ExpectedFlags:
    """The number of flagged items if each is flagged with its probability.

    `units` (items,) numbers the units: the items of a unit (a pair) are flagged together, others
    independently. Items with an unknown probability are left out.
    """
    known = ~np.isnan(probabilities)
    _, first, sizes = np.unique(units[known], return_index=True, return_counts=True)
    of_unit = probabilities[known][first]
    mean = float((of_unit * sizes).sum())
    # Rounding of the transform: a sum of 0.97499999 is 0.975.
    below = np.cumsum(_distribution(of_unit, sizes)) + 1e-9
    tail = (1 - _LEVEL) / 2
    low, high = np.searchsorted(below, (tail, 1 - tail)).tolist()
    return ExpectedFlags(mean, low, min(high, len(below) - 1))


def _distribution(probabilities: NDArray[float64], sizes: NDArray[intp]) -> NDArray[float64]:
    """The probabilities of 0, 1, ... flagged items: Poisson binomial, through its characteristic
    function (Hong 2013), units of one probability and size taken together."""
    total = int(sizes.sum())
    angles = 2 * np.pi * np.arange(total + 1) / (total + 1)
    pairs, counts = np.unique(np.stack([probabilities, sizes]), axis=1, return_counts=True)
    values = np.ones(total + 1, dtype=np.complex128)
    for (p, size), count in zip(pairs.T.tolist(), counts.tolist(), strict=True):
        values *= (1 - p + p * np.exp(1j * angles * size)) ** count
    return np.clip(np.fft.fft(values).real / (total + 1), 0, 1)
