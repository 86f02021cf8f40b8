"""Whether the questions that were made can be answered from their texts alone, by subtask.

The text probe is trained on one part of a subtask's questions and tested on the rest. While it is
better than chance, the questions that another division of them makes easiest are left out, as in
adversarial filtering (R. Le Bras et al., "Adversarial filters of dataset biases", 2020), up to a
third. Beside it stand exact tests of single rules: a rule's pick, or an answer that is right more
often than it should be where it is offered.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from msgspec import Struct

from snellen_curate.metadata.drafts import QuestionDraft
from snellen_curate.metadata.draw import balance_positions
from snellen_curate.statistics import shortcuts
from snellen_curate.statistics.item_columns import SampledQuestion
from snellen_curate.statistics.results import ProbeScore
from snellen_curate.statistics.text_probe import ALL, MIN_PROBED, probe_texts, right_option_chances

MOST_LEFT_OUT = 1 / 3
"""The share of a subtask's questions that may be left out."""
_STEP = 0.05
"""The share that is left out before the probe is asked again."""
_MAX_PROBED = 5_000
"""Questions of a subtask that the probe sees."""
_MIN_OFFERED = 20
"""Questions with an answer among their options, below which it is not tested by itself."""
_LEVEL = 0.025
"""The largest p of the probe for which a subtask is named: that of one side of a 95 % interval,
which is wider where questions about one image are answered alike."""
_MOST_RULES = 3
"""Rules of a subtask that are printed."""


class RuleFigures(Struct, omit_defaults=True):
    """A rule by which an option is chosen without the image, such as the longest; see
    `snellen curate statistics`."""

    n: int
    """Questions whose options the rule tells apart."""
    right: float
    """Percent of these where it picks the right option."""
    expected: float
    """The same if the right option were any."""
    p: float
    """Two-sided, corrected for the number of rules and subtasks."""


class GuessCheck(Struct, omit_defaults=True):
    """What the texts of a subtask's questions give away. Percent."""

    items: int
    chance: float
    rules: dict[str, RuleFigures] = {}
    right: float | None = None
    """Of questions that the probe answers right; None for fewer than it needs."""
    low: float = 0.0
    high: float = 100.0
    """The 95 % interval of `right`."""
    p: float = 1.0
    """One-sided: as many right by guessing, each question for itself."""
    left_out: int = 0
    """Questions left out because the probe answered them."""

    def findings(self) -> Iterator[str]:
        """A sentence for each thing to look at."""
        if self.right is not None and (self.low > self.chance or self.p <= _LEVEL):
            yield (
                f"the texts alone answer {self.right:.1f} % ({self.low:.1f} to {self.high:.1f}), "
                f"guessing {self.chance:.1f} %"
            )
        found = [(name, rule) for name, rule in self.rules.items() if rule.p <= 0.05]
        found.sort(key=lambda pair: -abs(pair[1].right - pair[1].expected))
        for name, rule in found[:_MOST_RULES]:
            yield (f"{name} is right in {rule.right:.1f} % of {rule.n} items, by chance {rule.expected:.1f} %")
        if len(found) > _MOST_RULES:
            yield f"{len(found) - _MOST_RULES} more rules, which step.json lists"


class ProbedDrafts(NamedTuple):
    """The drafts of one subtask, and what the probe answers of those that are kept."""

    kept: list[QuestionDraft]
    left_out: list[QuestionDraft]
    score: ProbeScore | None
    """None if there are too few for the probe."""


def leave_out_guessable(drafts: Sequence[QuestionDraft], seed: int, most: float) -> ProbedDrafts:
    """Leave out drafts of one subtask until the probe does not answer the others better than
    chance. If the share `most` is not enough, none is left out."""
    kept, left_out = list(drafts), list[QuestionDraft]()
    first = score = _probe(kept, seed)
    while score is not None and score.interval is not None and score.interval.low > score.chance:
        if len(left_out) >= most * len(drafts):
            return ProbedDrafts(list(drafts), [], first)
        chances = right_option_chances(_to_questions(kept, seed))
        ratios = chances * [draft.size for draft in kept[:_MAX_PROBED]]
        number = max(1, round(_STEP * len(ratios)))
        easiest = set(np.argsort(-ratios, kind="stable")[:number].tolist())
        left_out += [draft for place, draft in enumerate(kept) if place in easiest]
        kept = [draft for place, draft in enumerate(kept) if place not in easiest]
        score = _probe(kept, seed)
    return ProbedDrafts(kept, left_out, score)


def check_guessing(subtasks: Mapping[str, ProbedDrafts]) -> dict[str, GuessCheck]:
    """What the texts give away, by subtask, the tests corrected for their number."""
    tests = {name: list(_tests(drafts.kept)) for name, drafts in subtasks.items()}
    adjusted = iter(shortcuts.adjust_tests(test for each in tests.values() for test in each))
    checks = {}
    for name, (drafts, left_out, score) in subtasks.items():
        chance = float(np.mean([1 / draft.size for draft in drafts])) if drafts else 0.0
        check = checks[name] = GuessCheck(
            len(drafts),
            _percent(chance),
            {
                test.rule: RuleFigures(test.n, _percent(test.share), _percent(test.expected), round(test.p_adjusted, 4))
                for _, test in zip(tests[name], adjusted, strict=False)
            },
            left_out=len(left_out),
        )
        if score is not None:
            check.right, check.p = _percent(score.share), score.p
            if score.interval is not None:
                check.low, check.high = map(_percent, (score.interval.low, score.interval.high))
    return checks


def _tests(drafts: Sequence[QuestionDraft]) -> Iterator[shortcuts.ShortcutTest]:
    """Tests of each rule that tells options apart, and of each answer that is offered often."""
    texts = [draft for draft in drafts if not draft.candidates]
    questions = [shortcuts.ChoiceQuestion(one.question, (one.gold, *one.wrong), 0) for one in texts]
    tables: dict[str, shortcuts.PickTable] = dict(shortcuts.pick_tables(questions)) if questions else {}
    offered: dict[str, list[tuple[int, bool]]] = {}
    for draft in texts:
        for text in (draft.gold, *draft.wrong):
            offered.setdefault(text, []).append((draft.size, text == draft.gold))
    for text, cells in offered.items():
        if len(cells) >= _MIN_OFFERED:
            sizes, right = zip(*cells, strict=True)
            picked = np.ones(len(cells), dtype=np.int64)
            tables[f"the answer {text!r}"] = shortcuts.PickTable(np.array(sizes), picked, np.array(right))
    tests = (shortcuts.measure_picks(rule, table) for rule, table in tables.items())
    yield from (test for test in tests if test.n)


def _probe(drafts: Sequence[QuestionDraft], seed: int) -> ProbeScore | None:
    """What the text probe answers; None if there are too few questions with texts as options."""
    questions = _to_questions(drafts, seed)
    if len(questions) < MIN_PROBED or len({each.cluster for each in questions}) < 2:
        return None
    return probe_texts(questions, parts=(ALL,)).scores[0]


def _to_questions(drafts: Sequence[QuestionDraft], seed: int) -> list[SampledQuestion]:
    """The questions with the right options at balanced places; those about one image are one
    cluster. None for candidates, which are no texts."""
    places = balance_positions([(draft.template.subtask, draft.size) for draft in drafts], seed)
    clusters: dict[str, int] = {}
    sampled = []
    for draft, place in zip(drafts[:_MAX_PROBED], places, strict=False):
        if not draft.candidates:
            options = [*draft.wrong[:place], draft.gold, *draft.wrong[place:]]
            cluster = clusters.setdefault(draft.media[0].digest, len(clusters))
            sampled.append(SampledQuestion(draft.id, draft.question, options, place, cluster))
    return sampled


def _percent(share: float) -> float:
    return round(100 * share, 2)
