"""Letters that a model prefers, refusals, and the accuracy it could reach without refusals (MMBench
Fig. 4, Sec. 5.3 and Table 4)."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from msgspec import structs

from snellen.core.arrays import np
from snellen.core.output import Failure, Generated, ParsedAnswer, Refused
from snellen.core.record import Pass, Record
from snellen.core.run import RunInfo
from snellen.core.summary import Interval
from snellen.extract.steps import STEPS, Step, step_of
from snellen.stats.chi_square import ChiSquare, even_over_questions, pearson
from snellen.stats.intervals import score_interval, wilson

OVER_ROTATIONS = "over all rotations, by question"
WRONG_CHOICES = "wrong choices, given the gold letter"


class Refusals(NamedTuple):
    """Refused passes among all passes of a category."""

    refused: int
    passes: int

    @property
    def share(self) -> float:
        return self.refused / self.passes if self.passes else 0.0


class Letter(NamedTuple):
    """How often a label was chosen, and how often it was gold. `interval` is that of the chosen
    fraction, with the passes of a question as one cluster. `excess` is the chosen fraction minus
    the fraction expected of a model without a preference (`Choices.bias`), over the tested choices.
    """

    label: str
    chosen: int
    share: float | None
    interval: Interval | None
    gold: int
    excess: float | None


class Choices(NamedTuple):
    """Findings over every pass of a run's multiple-choice questions.

    `predicted` and `gold` count labels; `upper_bound` is the accuracy in percent if every refused
    pass had been right, and `accuracy` that over the same questions. None if nothing is scored.

    `bias` tests whether letters are chosen for their position. If questions were asked in all
    rotations, every text stood in every position, so that a model without a preference chooses all
    positions equally often: tested by question, because passes of a question depend on each other
    (`even_over_questions`), and on these questions only. Otherwise the wrong choices are tested
    given the gold letter: a model without a preference spreads them evenly over the other letters,
    whatever its accuracy and however often each letter is gold. Questions with two options carry no
    information there.
    """

    passes: int
    predicted: Mapping[str, int]
    gold: Mapping[str, int]
    refused: Refusals
    refusals: Mapping[str, Refusals]
    accuracy: float | None
    upper_bound: float | None
    letters: tuple[Letter, ...] = ()
    bias: ChiSquare | None = None
    test: str = ""


class _ChosenLabel(NamedTuple):
    """A pass whose reply was parsed to one of its labels."""

    labels: tuple[str, ...]
    label: str
    gold: frozenset[str]


class _LetterTest(NamedTuple):
    """A test of a preferred letter, with the observed and the expected count of each label."""

    name: str
    bias: ChiSquare | None
    chosen: Mapping[str, float]
    expected: Mapping[str, float]


FIRST_PASS = (
    "the first pass of each question alone: later ones were not asked where an earlier one was "
    "wrong; --circular full asks every pass"
)
"""What is said of runs whose later passes would be a biased selection."""


def has_first_pass_alone(run: RunInfo) -> bool:
    """Whether only the first pass of each question shows a run's choices: early stop leaves out the
    later passes of exactly those questions that were answered wrong."""
    return run.config.parameters.get("circular") == "early"


def first_passes(records: Iterable[Record]) -> Iterator[Record]:
    """The records as if each question had been asked once, in its first rotation."""
    for record in records:
        vanilla = record.values.get("vanilla", record.score)
        score = None if record.score is None else vanilla
        yield structs.replace(record, passes=record.passes[:1], score=score)


def choices(records: Iterable[Record], group: str = "category") -> Choices:
    """Letters, refusals by `group`, and the upper bound; failed and missing samples are left
    out."""
    predicted: Counter[str] = Counter()
    gold: Counter[str] = Counter()
    refused: Counter[str] = Counter()
    pass_counts: Counter[str] = Counter()
    outcomes: dict[str, list[float]] = defaultdict(list)
    first_passes: list[_ChosenLabel] = []
    rotations: list[list[_ChosenLabel]] = []
    answers: list[tuple[str, str]] = []
    for record in records:
        if record.kind != "choice" or record.is_retryable:
            continue
        label = record.label(group)
        for one_pass in record.passes:
            pass_counts[label] += 1
            refused[label] += isinstance(one_pass.answer, Refused)
            gold.update(one_pass.gold[:1])
            if isinstance(one_pass.answer, ParsedAnswer):
                predicted[one_pass.answer.value] += 1
                answers.append((record.id, one_pass.answer.value))
        if not record.asked_once:
            chosen = [choice for one_pass in record.passes if (choice := _chosen_label(record, one_pass))]
            if 1 < len(record.passes) == len(record.options):
                rotations.append(chosen)
            # Without all rotations only the first pass is independent of the others.
            first_passes += [choice for one_pass in record.passes[:1] if (choice := _chosen_label(record, one_pass))]
        if record.score is not None:
            outcomes["score"].append(record.score)
            outcomes["bound"].append(float(all(_is_right_or_refused(one_pass) for one_pass in record.passes)))
    test = _test_of_rotations(rotations) if rotations else _test_of_wrong_choices(first_passes)
    return Choices(
        passes=pass_counts.total(),
        predicted=dict(sorted(predicted.items())),
        gold=dict(sorted(gold.items())),
        refused=Refusals(refused.total(), pass_counts.total()),
        refusals={label: Refusals(refused[label], pass_counts[label]) for label in sorted(pass_counts)},
        accuracy=_percent(outcomes["score"]),
        upper_bound=_percent(outcomes["bound"]),
        letters=_letters(answers, gold, test),
        bias=test.bias,
        test=test.name if test.bias else "",
    )


def _chosen_label(record: Record, one_pass: Pass) -> _ChosenLabel | None:
    labels = tuple(sorted(one_pass.options or record.options))
    if not isinstance(one_pass.answer, ParsedAnswer) or one_pass.answer.value not in labels:
        return None
    return _ChosenLabel(labels, one_pass.answer.value, frozenset(one_pass.gold) & frozenset(labels))


def _test_of_rotations(questions: Sequence[Sequence[_ChosenLabel]]) -> _LetterTest:
    """Test that each position is chosen equally often, stratified by the labels."""
    strata: dict[tuple[str, ...], list[list[int]]] = defaultdict(list)
    chosen: Counter[str] = Counter()
    expected: dict[str, float] = defaultdict(float)
    for passes in questions:
        if not passes:
            continue
        labels = passes[0].labels
        counts = Counter(choice.label for choice in passes)
        strata[labels].append([counts[label] for label in labels])
        chosen.update(counts)
        for label in labels:
            expected[label] += len(passes) / len(labels)
    tables = [np.array(rows, dtype=np.float64) for rows in strata.values()]
    return _LetterTest(OVER_ROTATIONS, even_over_questions(tables), chosen, expected)


def _test_of_wrong_choices(choices: Iterable[_ChosenLabel]) -> _LetterTest:
    """Test that wrong choices are even over the labels that are not gold, stratified by labels and
    gold."""
    strata: dict[tuple[tuple[str, ...], frozenset[str]], Counter[str]] = defaultdict(Counter)
    chosen: Counter[str] = Counter()
    expected: dict[str, float] = defaultdict(float)
    for choice in choices:
        if not choice.gold:
            continue
        chosen[choice.label] += 1
        if choice.label in choice.gold:
            expected[choice.label] += 1
        else:
            strata[choice.labels, choice.gold][choice.label] += 1
    tables = []
    for (labels, gold), counts in strata.items():
        others = [label for label in labels if label not in gold]
        for label in others:
            expected[label] += counts.total() / len(others)
        tables.append(([counts[label] for label in others], [1 / len(others)] * len(others)))
    return _LetterTest(WRONG_CHOICES, pearson(tables), chosen, expected)


def _letters(answers: Sequence[tuple[str, str]], gold: Counter[str], test: _LetterTest) -> tuple[Letter, ...]:
    """Counts of each letter; `answers` are the question id and the label of each parsed pass."""
    predicted = Counter(label for _, label in answers)
    questions = [question for question, _ in answers]
    total = sum(test.expected.values())
    return tuple(
        Letter(
            label,
            predicted[label],
            predicted[label] / len(answers) if answers else None,
            score_interval([float(chosen == label) for _, chosen in answers], questions),
            gold[label],
            (test.chosen.get(label, 0) - test.expected.get(label, 0.0)) / total if total else None,
        )
        for label in sorted({*predicted, *gold})
    )


def _is_right_or_refused(one_pass: Pass) -> bool:
    return bool(one_pass.correct) or isinstance(one_pass.answer, Refused)


def _percent(scores: Sequence[float]) -> float | None:
    return 100 * sum(scores) / len(scores) if scores else None


class StepRates(NamedTuple):
    """Replies parsed by each step or an earlier one; `llm` counts only if an extractor was
    asked."""

    replies: int
    read: dict[Step, int]
    refused: int
    extractor: bool

    def share(self, step: Step) -> float | None:
        """In 0..1; None if the run had no such step, or no replies."""
        if not self.replies or (step == "llm" and not self.extractor):
            return None
        return self.read[step] / self.replies

    def interval(self, step: Step) -> Interval | None:
        return None if self.share(step) is None else wilson(self.read[step], self.replies)


def step_rates(records: Iterable[Record], *, extractor: bool) -> StepRates:
    """How many replies each step of parsing resolves (MMT-Bench Table A16): labels of options, their
    contents, a language model. Over the first pass of every multiple-choice question with a reply."""
    counts: Counter[Step] = Counter()
    replies = refused = 0
    for record in records:
        first = record.passes[0] if record.passes else None
        if record.kind != "choice" or first is None or not isinstance(first.output, Generated):
            continue
        if isinstance(first.extraction, Failure):
            continue
        replies += 1
        refused += isinstance(first.answer, Refused)
        step = step_of(first.answer, by_llm=first.extraction is not None)
        if step is not None:
            counts[step] += 1
    cumulative = {step: sum(counts[earlier] for earlier in STEPS[: index + 1]) for index, step in enumerate(STEPS)}
    return StepRates(replies, cumulative, refused, extractor)
