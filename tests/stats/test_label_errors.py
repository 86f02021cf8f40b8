"""Labels that are wrong by plan, found by the answers of simulated systems."""

from __future__ import annotations

import numpy as np
import pytest
from simulations.choices import planted_labels

from snellen.stats.label_errors import SystemAnswers, wrong_label_chances


@pytest.mark.parametrize(("attraction", "recall"), [(0.0, 0.7), (0.5, 0.4)])
def test_wrong_labels_are_found_and_their_probabilities_hold(attraction: float, recall: float) -> None:
    listed = wrong = found = 0
    told = 0.0
    random = np.random.default_rng(5)
    for _ in range(3):
        table, mislabelled = planted_labels(0.05, attraction, random)
        chances = np.array([one.wrong for one in wrong_label_chances(table)])
        listed, wrong = listed + int((chances >= 0.5).sum()), wrong + int(mislabelled.sum())
        found, told = found + int(mislabelled[chances >= 0.5].sum()), told + float(chances.sum())
    assert found >= recall * wrong
    assert found >= 0.75 * listed
    assert 0.75 < told / wrong < 1.25


@pytest.mark.parametrize("attraction", [0.0, 0.5])
def test_without_a_wrong_label_hardly_any_is_listed(attraction: float) -> None:
    random = np.random.default_rng(6)
    told = [
        sum(one.wrong >= 0.5 for one in wrong_label_chances(planted_labels(0, attraction, random)[0])) for _ in range(3)
    ]
    assert sum(told) <= 2


def test_the_likeliest_other_answer_is_named() -> None:
    """On 60 samples all six systems are right; on one all but the weakest say 2."""
    right = np.ones((61, 6))
    right[:30, 5] = right[:10, 4] = 0
    wrong: list[list[int | None]] = [[None if one else 1 for one in row] for row in right]
    right[60], wrong[60] = [0, 0, 0, 0, 0, 1], [2, 2, 2, 2, 2, None]
    chances = wrong_label_chances(SystemAnswers(right, wrong, np.full(61, 3.0)))
    assert (chances[60].answer, chances[40].answer) == (2, None)
    assert chances[60].wrong == max(one.wrong for one in chances) > 0.5
    assert chances[40].wrong == 0.0
    with pytest.raises(ValueError, match="5 or more systems, got 4"):
        wrong_label_chances(SystemAnswers(right[:, :4], wrong, np.full(61, 3.0)))
