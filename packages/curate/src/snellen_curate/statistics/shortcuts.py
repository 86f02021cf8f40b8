"""Whether a rule picks the right option more often than it should.

If the right option stands among the others by chance alone, a rule that picks m of k options has it
among them with probability m / k, so that ties count as what they are. The number of questions
where it has is then Poisson binomial, and its test is exact. The interval is that of the house for
shares: questions about one image are one cluster.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from msgspec import Struct
from msgspec.structs import replace
from numpy import bool_, int64, uint64
from numpy.typing import NDArray

from snellen.core.summary import Interval
from snellen.stats.exact_counts import EventGroup, count_tails
from snellen.stats.intervals import share_interval
from snellen.stats.paired import holm
from snellen_curate.statistics.shortcut_rules import SHORTCUT_RULES, choice_texts, pick_options


class ChoiceQuestion(NamedTuple):
    """A multiple-choice question with one right option."""

    text: str
    options: Sequence[str]
    right: int
    """Index of the right option."""
    cluster: int = -1
    """Number of the cluster, e.g. of the image; -1 for a question of its own."""


class ShortcutTest(Struct, frozen=True):
    """How often a rule picks the right option. Shares are 0..1."""

    rule: str
    n: int
    """Questions whose options the rule tells apart."""
    right: int
    """Of these, questions where the right option is among those it picks."""
    expected: float
    """Share expected if the right option stands among the others by chance."""
    interval: Interval | None
    """Of the share that is right."""
    p: float
    """Two-sided: picked too often, or too rarely."""
    p_adjusted: float
    """`p` corrected for all tests that are made together (Holm)."""
    score: float
    """What choosing by this rule scores on all questions, ties and other questions by chance."""
    chance: float
    """What guessing scores on all questions."""

    @property
    def share(self) -> float:
        """The share that is right; 0 without questions."""
        return self.right / self.n if self.n else 0.0

    @property
    def excess(self) -> float:
        """The share that is right minus what is expected."""
        return self.share - self.expected

    def is_alarm(self, level: float = 0.05) -> bool:
        """Whether the rule is right more often, or less, than chance allows."""
        return self.p_adjusted <= level


class PickTable(NamedTuple):
    """What one rule picks of many questions; arrays of shape (questions,)."""

    options: NDArray[int64]
    """Number of options."""
    picked: NDArray[int64]
    """Number of options that the rule picks; 0 where it does not apply."""
    right: NDArray[bool_]
    """Whether the right option is among them."""
    clusters: NDArray[uint64] | None = None


def measure_shortcuts(
    questions: Iterable[ChoiceQuestion], rules: Sequence[str] = tuple(SHORTCUT_RULES)
) -> list[ShortcutTest]:
    """Test each rule on these questions, corrected for their number; rules that apply to no
    question are left out.

    Questions with fewer than two options are ignored. Raises KeyError for an unknown rule.
    """
    return adjust_tests(measure_picks(rule, table) for rule, table in pick_tables(questions, rules).items())


def pick_tables(
    questions: Iterable[ChoiceQuestion], rules: Sequence[str] = tuple(SHORTCUT_RULES)
) -> Mapping[str, PickTable]:
    """What each rule picks of each question with two options or more."""
    kept = [question for question in questions if len(question.options) > 1]
    options = np.array([len(question.options) for question in kept], dtype=np.int64)
    # Cluster numbers are even for questions that name one, odd for those that do not.
    clusters = [2 * one.cluster if one.cluster >= 0 else 2 * number + 1 for number, one in enumerate(kept)]
    cluster_ids = np.array(clusters, dtype=np.uint64)
    texts = choice_texts([question.text for question in kept], [question.options for question in kept])
    picks = pick_options(texts, rules)
    places = np.array([question.right for question in kept], dtype=np.int64)
    columns = zip(picks.counts, picks.options[:, picks.starts + places], strict=True)
    return {
        rule: PickTable(options, picked, right, cluster_ids)
        for rule, (picked, right) in zip(rules, columns, strict=True)
    }


def measure_picks(rule: str, table: PickTable) -> ShortcutTest:
    """Test what one rule picks; `p_adjusted` is `p`."""
    applies = table.picked > 0
    options, picked, right = table.options[applies], table.picked[applies], table.right[applies]
    n = len(options)
    # One number for both: pairs take ten times as long to sort.
    cells, events = np.unique(picked.astype(np.int64) << 32 | options, return_counts=True)
    pairs = zip((cells >> 32).tolist(), (cells & 0xFFFFFFFF).tolist(), events.tolist(), strict=True)
    groups = [EventGroup(m / k, count) for m, k, count in pairs]
    hits = int(np.count_nonzero(right))
    p = count_tails(groups, hits).two_sided
    clusters = None if table.clusters is None else table.clusters[applies]
    total = len(table.options)
    by_chance = 1 / table.options
    gained = float((right / np.maximum(picked, 1)).sum() + by_chance[~applies].sum())
    return ShortcutTest(
        rule=rule,
        n=n,
        right=hits,
        expected=sum(group.probability * group.events for group in groups) / n if n else 0.0,
        interval=share_interval(right, clusters),
        p=p,
        p_adjusted=p,
        score=gained / total if total else 0.0,
        chance=float(by_chance.mean()) if total else 0.0,
    )


def adjust_tests(tests: Iterable[ShortcutTest]) -> list[ShortcutTest]:
    """Tests that are made together, their p-values corrected for their number; those without
    questions are left out."""
    kept = [test for test in tests if test.n]
    adjusted = holm([test.p for test in kept])
    return [replace(test, p_adjusted=p) for test, p in zip(kept, adjusted, strict=True)]
