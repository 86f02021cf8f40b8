"""Numbers from yes/no answers: accuracy and accuracy+ over pairs (MME), precision, recall and F1
(POPE). All values in percent."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import NamedTuple

YES, NO = "Yes", "No"


class YesNoItem(NamedTuple):
    """One question. `unit` is the image it is about; `correct` is None if the question does not
    count (no gold, or no answer)."""

    unit: str
    correct: bool | None


class PairScore(NamedTuple):
    """Counts of one subtask of MME (Sec. 2.2)."""

    right: int
    questions: int
    both: int
    """Images with both questions right."""
    images: int
    """Images with both questions scored."""
    incomplete: int
    """Images with a single scored question: they count in accuracy, but not in accuracy+."""

    @property
    def accuracy(self) -> float | None:
        """Percent of the questions that are right."""
        return 100 * self.right / self.questions if self.questions else None

    @property
    def accuracy_plus(self) -> float | None:
        """Percent of the images with both questions right."""
        return 100 * self.both / self.images if self.images else None

    @property
    def score(self) -> float | None:
        """Accuracy plus accuracy+, 0..200."""
        first, second = self.accuracy, self.accuracy_plus
        return None if first is None or second is None else first + second


class ImageCounts(NamedTuple):
    """Counts of the questions about one image; `both` is 1 if both are right, `pair` is 1 if there
    are two."""

    right: int
    questions: int
    both: int
    pair: int


def count_by_image(questions: Iterable[YesNoItem]) -> list[ImageCounts]:
    """Counts per image, in the order in which the images first occur."""
    units: dict[str, list[bool]] = defaultdict(list)
    for unit, correct in questions:
        if correct is not None:
            units[unit].append(correct)
    return [
        ImageCounts(sum(verdicts), len(verdicts), int(len(verdicts) == 2 and all(verdicts)), int(len(verdicts) == 2))
        for verdicts in units.values()
    ]


def sum_images(counts: Sequence[ImageCounts]) -> PairScore:
    """MME's counts over the images of one subtask."""
    return PairScore(
        right=sum(image.right for image in counts),
        questions=sum(image.questions for image in counts),
        both=sum(image.both for image in counts),
        images=sum(image.pair for image in counts),
        incomplete=sum(not image.pair for image in counts),
    )


class Confusion(NamedTuple):
    """Counts of answers against gold; yes is positive. An unparsed reply is not a positive
    prediction, and is wrong whatever the gold is."""

    true_positive: int
    false_positive: int
    true_negative: int
    false_negative: int
    """Gold yes, and the answer is no or unparsed."""
    unread_negative: int = 0
    """Gold no, and the answer is unparsed."""

    @property
    def n(self) -> int:
        return sum(self)

    @property
    def accuracy(self) -> float | None:
        return _percent(self.true_positive + self.true_negative, self.n) if self.n else None

    @property
    def precision(self) -> float:
        """0 if no answer is yes."""
        return _percent(self.true_positive, self.true_positive + self.false_positive)

    @property
    def recall(self) -> float:
        """0 if no gold is yes."""
        return _percent(self.true_positive, self.true_positive + self.false_negative)

    @property
    def f1(self) -> float:
        """Harmonic mean of precision and recall, as 2 TP / (2 TP + FP + FN); 0 if undefined."""
        missed = self.false_positive + self.false_negative
        return _percent(2 * self.true_positive, 2 * self.true_positive + missed)

    @property
    def yes_rate(self) -> float | None:
        """Percent of the questions answered yes, whatever the gold."""
        return _percent(self.true_positive + self.false_positive, self.n) if self.n else None


class YesNoReply(NamedTuple):
    gold: str
    answer: str | None
    """`Yes`, `No`, or None if unparsed."""


def confusion(replies: Iterable[YesNoReply]) -> Confusion:
    """Count answers against their gold."""
    cells = [0] * 5
    for gold, answer in replies:
        if gold == YES:
            cells[0 if answer == YES else 3] += 1
        else:
            cells[{YES: 1, NO: 2}.get(answer or "", 4)] += 1
    return Confusion(*cells)


def _percent(part: int, total: int) -> float:
    return 100 * part / total if total else 0.0
