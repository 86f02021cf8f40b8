"""Letters, guesses, labels in doubt, error types and readers."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from simulations.study import Case, Share, Study
from snellen.core.record import Record
from snellen.scoring.accuracy import guess_metrics
from snellen.stats.chi_square import even_over_questions, pearson
from snellen.stats.intervals import SampledStratum, share_over_systems, weighted_share
from snellen.stats.items import LEVEL, low_discrimination
from snellen.stats.label_errors import SystemAnswers, wrong_label_chances

Letters = NDArray[np.intp]
_BALANCED = (0.25, 0.25, 0.25, 0.25)
_UNEVEN = (0.4, 0.3, 0.2, 0.1)


def wrong_letters_rejected(gold: Sequence[float], accuracy: float, questions: int, preference: float = 0.0) -> Share:
    """Wrong answers evenly over the other letters, but A in `preference` of those it is open to."""

    def share(random: np.random.Generator, repeats: int) -> float:
        rejected = 0
        for _ in range(repeats):
            right = random.choice(4, questions, p=gold)
            chosen = (right + random.integers(1, 4, questions)) % 4
            chosen[(random.random(questions) < preference) & (right != 0)] = 0
            wrong = random.random(questions) >= accuracy
            strata = []
            for letter in range(4):
                counts = np.bincount(chosen[wrong & (right == letter)], minlength=4)
                strata.append((np.delete(counts, letter).tolist(), [1 / 3] * 3))
            found = pearson(strata)
            rejected += found is not None and found.p < 0.05
        return rejected / repeats

    return share


def rotations_rejected(kind: str, questions: int) -> Share:
    def share(random: np.random.Generator, repeats: int) -> float:
        rejected = 0
        for _ in range(repeats):
            letters = _through_rotations(random, kind, questions)
            counts = np.stack([(letters == at).sum(axis=1) for at in range(4)], axis=1)
            found = even_over_questions([counts.astype(np.float64)])
            rejected += found is not None and found.p < 0.05
        return rejected / repeats

    return share


def _through_rotations(random: np.random.Generator, kind: str, questions: int) -> Letters:
    """Letters that a model chooses in the four rotations of each question."""
    one = random.integers(0, 4, (questions, 1))
    anew = random.integers(0, 4, (questions, 4))
    if kind == "anew":
        return anew
    if kind == "one letter":
        return np.repeat(one, 4, axis=1)
    text = (one + np.arange(4)) % 4
    if kind == "one text":
        return text
    mixed = np.where(random.random((questions, 1)) < 0.5, text, np.repeat(one, 4, axis=1))
    return np.where(random.random((questions, 4)) < 0.1, 0, mixed) if kind == "A" else mixed


def planted_labels(
    share: float, attraction: float, random: np.random.Generator
) -> tuple[SystemAnswers, NDArray[np.bool_]]:
    """400 questions of four options, ten runs, a `share` of the labels wrong. The first wrong
    option draws `attraction` of the wrong answers to itself."""
    able, n = np.linspace(0.5, 2.3, 10), 400
    right = random.random((n, 10)) < 1 / (1 + np.exp(random.normal(0, 1.5, (n, 1)) - able))
    wrong = random.integers(1, 4, (n, 10))
    wrong[random.random((n, 10)) < attraction] = 1
    answers, mislabelled = np.where(right, 0, wrong), random.random(n) < share
    labels = np.where(mislabelled, random.integers(1, 4, n), 0)[:, None]
    given = [
        [None if one == label else one for one in row]
        for row, (label,) in zip(answers.tolist(), labels.tolist(), strict=True)
    ]
    table = SystemAnswers((answers == labels).astype(np.float64), given, np.full(n, 3.0))
    return table, mislabelled


def wrong_to_told(share: float, attraction: float) -> Share:
    """Wrong labels among all samples, over the sum of the probabilities."""

    def ratio(random: np.random.Generator, repeats: int) -> float:
        wrong = told = 0.0
        for _ in range(repeats):
            table, mislabelled = planted_labels(share, attraction, random)
            wrong += float(mislabelled.sum())
            told += sum(chance.wrong for chance in wrong_label_chances(table))
        return wrong / told

    return ratio


def listed_and_wrong(share: float, attraction: float) -> Share:
    """Wrong labels among those that are listed, or 1 without any."""

    def precision(random: np.random.Generator, repeats: int) -> float:
        listed = wrong = 0
        for _ in range(repeats):
            table, mislabelled = planted_labels(share, attraction, random)
            doubted = np.array([chance.wrong >= 0.5 for chance in wrong_label_chances(table)])
            listed += int(doubted.sum())
            wrong += int((doubted & mislabelled).sum())
        return wrong / listed if listed else 1.0

    return precision


def listed_without_wrong(attraction: float) -> Share:
    """Labels that are listed in each benchmark of 400, though none is wrong."""

    def count(random: np.random.Generator, repeats: int) -> float:
        tables = (planted_labels(0.0, attraction, random)[0] for _ in range(repeats))
        listed = sum(chance.wrong >= 0.5 for table in tables for chance in wrong_label_chances(table))
        return listed / repeats

    return count


def listed_to_expected(systems: int, spread: float) -> Share:
    """Samples listed for a low discrimination, where all discriminate alike."""

    def share(random: np.random.Generator, repeats: int) -> float:
        listed = expected = 0.0
        for _ in range(repeats):
            able, hard = random.normal(0.5, spread, systems), random.normal(0, 1.2, (400, 1))
            right = random.random((400, systems)) < 1 / (1 + np.exp(hard - able))
            found = low_discrimination(right.astype(np.float64))
            listed += float(np.nansum(found.p <= LEVEL))
            expected += found.expected
        return listed / expected

    return share


def most_frequent(questions: int) -> Share:
    """Random gold letters: what always giving the most frequent one is told to score."""

    def share(random: np.random.Generator, repeats: int) -> float:
        options, told = dict.fromkeys("ABCD", ""), []
        for _ in range(repeats):
            golds = random.choice(list("ABCD"), questions).tolist()
            records = [
                Record(str(at), "choice", "", "answered", 0.0, gold=(gold,), options=options)
                for at, gold in enumerate(golds)
            ]
            told.append(guess_metrics(records)["frequent"].value or 0.0)
        return float(np.mean(told))

    return share


def stratum_interval_holds(each: int, subtasks: Sequence[tuple[int, int]]) -> Share:
    """`subtasks`: wrong answers, and how many of them have the type."""
    truth = sum(hits for _, hits in subtasks) / sum(size for size, _ in subtasks)

    def share(random: np.random.Generator, repeats: int) -> float:
        held = 0
        for _ in range(repeats):
            strata = []
            for size, hits in subtasks:
                n = min(each, size)
                strata.append(SampledStratum(size, n, int(random.hypergeometric(hits, size - hits, n))))
            found = weighted_share(strata).interval
            held += found.low <= truth <= found.high
        return held / repeats

    return share


def reader_interval_holds(spread: float) -> Share:
    def share(random: np.random.Generator, repeats: int) -> float:
        held = 0
        for shares in np.clip(random.normal(0.9, spread, (repeats, 11)), 0, 1):
            found = share_over_systems(random.binomial(1817, shares).tolist(), [1817] * 11)
            held += found is not None and found.low <= 0.9 <= found.high
        return held / repeats

    return share


_TEN_AND_THOUSAND = ((10, 9), (1000, 200))
_FIFTEEN = tuple((30, 3 * at) for at in range(10)) + tuple((300, 60 * at) for at in range(5))

STUDIES = (
    Study(
        "letters-given-gold",
        "A preferred letter, each question asked once",
        "a model that prefers no letter is told to prefer one (nominal 0.05)",
        "Within each gold letter the wrong choices against equal shares of the other letters, by "
        "Pearson's chi-square, summed; among drawn tables where fewer than five are expected. "
        "Assumes that questions are answered independently.",
        "K. Pearson, Philosophical Magazine 50 (1900)",
        tuple(
            Case(
                f"gold {'/'.join(f'{100 * one:.0f}' for one in gold)}, accuracy {accuracy:g}, {questions:,} questions",
                wrong_letters_rejected(gold, accuracy, questions),
                0.0,
                0.06,
            )
            for gold in (_BALANCED, (0.28, 0.26, 0.25, 0.21), (0.33, 0.27, 0.22, 0.18), _UNEVEN)
            for accuracy, questions in ((0.3, 1000), (0.5, 4000))
        ),
        repeats=10_000,
    ),
    Study(
        "letters-given-gold-sparse",
        "A preferred letter, each question asked once, few wrong answers",
        "a model that prefers no letter is told to prefer one (nominal 0.05)",
        "As above, where fewer than five wrong choices of some letter are expected: among 19,999 "
        "tables with the same totals.",
        "A. Hope, JRSS B 30 (1968)",
        (
            Case(
                "gold 25/25/25/25, accuracy 0.8, 300 questions", wrong_letters_rejected(_BALANCED, 0.8, 300), 0.0, 0.06
            ),
            Case("gold 40/30/20/10, accuracy 0.5, 300 questions", wrong_letters_rejected(_UNEVEN, 0.5, 300), 0.0, 0.06),
        ),
        quick=60,
    ),
    Study(
        "letters-power",
        "A preferred letter is found",
        "a model that takes A in a fifth of its wrong answers more than chance is told to",
        "The test given the gold letter.",
        "as above",
        tuple(
            Case(
                f"accuracy {accuracy:g}, 1,000 questions",
                wrong_letters_rejected(_BALANCED, accuracy, 1000, 0.2),
                0.9,
                1.0,
            )
            for accuracy in (0.3, 0.5)
        ),
    ),
    Study(
        "letters-over-rotations",
        "A preferred letter, each question asked in all rotations",
        "a model that prefers no letter over all questions is told to (nominal 0.05)",
        "Counts of letters by question, summed, against their covariance between questions. Passes "
        "of a question may depend on each other in any way.",
        "K.-Y. Liang and S. Zeger, Biometrika 73 (1986)",
        tuple(
            Case(f"{words}, {questions} questions", rotations_rejected(kind, questions), 0.0, 0.06)
            for kind, words in (
                ("anew", "guesses anew in each pass"),
                ("one text", "keeps one text"),
                ("one letter", "keeps one letter, another for each question"),
                ("mixed", "keeps one text in half of the questions, one letter in the others"),
            )
            for questions in (400, 1000)
        ),
        repeats=10_000,
    ),
    Study(
        "letters-over-rotations-power",
        "A preferred letter is found over rotations",
        "a model that takes A in a tenth of all passes is told to",
        "The test over rotations.",
        "as above",
        (Case("500 questions", rotations_rejected("A", 500), 0.9, 1.0),),
    ),
    Study(
        "labels-in-doubt",
        "Labels in doubt",
        "wrong labels over the sum of their probabilities, wrong ones among those listed, and the "
        "number listed of 400 where none is wrong",
        "The probability that a label is wrong, given ten runs; 5 % are wrong unless said. "
        "Difficulty by a Rasch model, the attraction of wrong options by a Dirichlet distribution, "
        "the share of wrong labels by EM. "
        "Assumes that runs err independently given difficulty and attraction.",
        "A. P. Dawid and A. M. Skene, Applied Statistics 28 (1979); E. B. Andersen, JRSS B 32 "
        "(1970); J. Mosimann, Biometrika 49 (1962)",
        (
            *(
                Case(f"{label}, attraction {attraction:g}", make(0.05, attraction), *ends)
                for attraction in (0.0, 0.5)
                for label, make, ends in (
                    ("wrong over told", wrong_to_told, (0.8, 1.25)),
                    ("listed are wrong", listed_and_wrong, (0.75, 1.0)),
                )
            ),
            *(
                Case(f"listed, none wrong, attraction {attraction:g}", listed_without_wrong(attraction), 0.0, 1.0)
                for attraction in (0.0, 0.5)
            ),
        ),
        repeats=60,
        quick=2,
    ),
    Study(
        "low-discrimination",
        "Samples of low discrimination though all discriminate alike",
        "samples listed, over those expected",
        "Right answers permuted given each sample's number of them and the runs' abilities.",
        "G. Rasch (1960); E. B. Andersen, JRSS B 32 (1970)",
        tuple(
            Case(f"{systems} runs, ability sd {spread:g}", listed_to_expected(systems, spread), 0.8, 1.25)
            for systems in (8, 20)
            for spread in (0.0, 1.0)
        ),
        repeats=100,
        quick=6,
    ),
    Study(
        "most-frequent",
        "The most frequent label of random labels",
        "its mean score in percent, truly 25",
        "Chosen on one half of the pictures and scored on the other, both ways, over 20 halves.",
        "M. Stone, JRSS B 36 (1974)",
        tuple(Case(f"{n} questions", most_frequent(n), 24.0, 26.0) for n in (10, 50, 200)),
        repeats=1000,
        quick=100,
    ),
    Study(
        "error-types",
        "Shares of error types, some of each subtask labelled",
        "the 95 % interval holds the share of all wrong answers",
        "Each subtask with as many wrong answers as it has; Wilson's interval with the effective "
        "size of the stratified sample, never more than the weights allow.",
        "W. G. Cochran, Sampling Techniques (1977), Sec. 5; Korn and Graubard (1998)",
        (
            Case("10 and 1,000 wrong answers, 5 of each", stratum_interval_holds(5, _TEN_AND_THOUSAND), 0.94, 1.0),
            Case("10 and 1,000 wrong answers, 20 of each", stratum_interval_holds(20, _TEN_AND_THOUSAND), 0.94, 1.0),
            Case("15 subtasks, 1 of each", stratum_interval_holds(1, _FIFTEEN), 0.94, 1.0),
            Case("15 subtasks, 5 of each", stratum_interval_holds(5, _FIFTEEN), 0.94, 1.0),
        ),
    ),
    Study(
        "readers-over-systems",
        "Recall of a reader over 11 systems that differ",
        "the 95 % interval holds the mean over systems",
        "Systems are the clusters, Student's t with one degree of freedom less; never narrower "
        "than Wilson's interval of all replies.",
        "R. Bell and D. McCaffrey, Survey Methodology 28 (2002)",
        tuple(
            Case(f"sd {100 * spread:g} points", reader_interval_holds(spread), 0.94, 1.0)
            for spread in (0.0, 0.02, 0.05)
        ),
    ),
)
