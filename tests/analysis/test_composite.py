"""The difference of two runs' MME totals where one image stands in several subtasks."""

from __future__ import annotations

from statistics import NormalDist

import numpy as np
import pytest
from numpy.typing import NDArray

from snellen.analysis.aligned import Aligned, Seen
from snellen.analysis.composite import Composite, composite
from snellen.benchmarks.mme_subtasks import SUBTASK, SUBTASKS
from snellen.core.model import Identity
from snellen.core.run import DataInfo, RunConfig, RunInfo

IMAGES = 40
"""Of each subtask, with two questions each."""
Z = NormalDist().inv_cdf(0.975)


def runs(shared: int, seed: int = 3) -> Aligned:
    """Two runs over all subtasks, the first `shared` of which are about the same images. Each model
    finds some images hard, with all of their questions."""
    random = np.random.default_rng(seed)
    samples, images = [], []
    for at, subtask in enumerate(SUBTASKS):
        for image in range(IMAGES):
            unit = f"{subtask}/{image}"
            samples += [Seen(f"{unit}/{q}", "?", "answered", groups={SUBTASK: subtask}, unit=unit)
                        for q in range(2)]  # fmt: skip
            images += [image if at < shared else IMAGES * (at + 1) + image] * 2
    _, clusters = np.unique(images, return_inverse=True)
    hard = random.random((clusters.max() + 1, 2)) < 0.3
    scores = (random.random((len(samples), 2)) < np.where(hard[clusters], 0.4, 0.9)).astype(float)
    identity = Identity("told", "one", {})
    config = RunConfig(identity, "mme", "1", {}, "data")
    info = RunInfo(
        "run", "one", "mme", "MME", config, DataInfo("data", "0", len(samples)), "complete", ""
    )
    return Aligned((info, info), tuple(samples), scores, clusters, (), 0, 0)


def measured(together: Aligned) -> Composite:
    found = composite(together)
    assert found is not None
    return found


def error(together: Aligned, clusters: NDArray[np.int64]) -> float:
    """Standard error of the difference of totals, by linearisation, over these clusters."""
    right = together.scores[:, 1] - together.scores[:, 0]
    # The two questions of an image follow each other.
    both = np.prod(together.scores.reshape(-1, 2, 2), axis=1)
    plus = both[:, 1] - both[:, 0]
    totals = np.zeros(clusters.max() + 1)
    for at in range(len(SUBTASKS)):
        rows = slice(2 * IMAGES * at, 2 * IMAGES * (at + 1))
        pairs = slice(IMAGES * at, IMAGES * (at + 1))
        part, whole = right[rows], plus[pairs]
        np.add.at(totals, clusters[rows], 100 * (part - part.mean()) / len(part))
        np.add.at(totals, clusters[rows][::2], 100 * (whole - whole.mean()) / len(whole))
    return float(np.sqrt((totals**2).sum()))


@pytest.mark.parametrize(("shared", "strata"), [(0, 14), (4, 11), (14, 1)])
def test_an_image_is_resampled_in_all_of_its_subtasks(shared: int, strata: int) -> None:
    together = runs(shared)
    measure = measured(together)
    assert len(measure.strata) == strata
    found = measure.difference(0, 1, "seed", 0.95)
    assert found.interval is not None
    width = 2 * Z * error(together, together.clusters)
    # Of 5,000 draws the ends are known to some hundredths of the width.
    assert found.interval.high - found.interval.low == pytest.approx(width, rel=0.08)
    assert found.value == pytest.approx(measure.values()[1] - measure.values()[0])
    units = np.arange(len(together.samples)) // 2
    alone = 2 * Z * error(together, units)
    assert width > (1.4 if shared == 14 else 0.999) * alone


def test_the_total_is_that_of_the_shares() -> None:
    together = runs(4)
    scores = together.scores[:, 0].reshape(len(SUBTASKS), IMAGES, 2)
    expected = 100 * (scores.mean(axis=(1, 2)) + scores.min(axis=2).mean(axis=1)).sum()
    assert measured(together).values()[0] == pytest.approx(expected)


def test_a_subtask_that_a_draw_leaves_out_keeps_its_share() -> None:
    """One image of a subtask among those of another: a third of the draws are without it."""
    together = runs(2)
    kept = [at for at in range(len(together.samples)) if not 2 <= at < 2 * IMAGES]
    few = together._replace(
        samples=tuple(together.samples[at] for at in kept),
        scores=together.scores[kept],
        clusters=np.unique(together.clusters[kept], return_inverse=True)[1],
    )
    measure = measured(few)
    found = measure.difference(0, 1, "seed", 0.95)
    assert found.interval is not None
    assert found.interval.low < found.value < found.interval.high
    assert all(place.low <= place.rank <= place.high for place in measure.standings("s", 0.95))
