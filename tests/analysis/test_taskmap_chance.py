"""Clusters, maps and predictions against permuted models and tasks."""

from __future__ import annotations

import numpy as np
import pytest

from snellen.report.documents.taskmap import task_map_document
from snellen.report.writers.terminal import print_document
from snellen.taskmap import chance
from snellen.taskmap.agreement import add_p_values, cluster_agreement, kendall_taus, tau_by_distance
from snellen.taskmap.chance import cluster_chance, mantel_test
from snellen.taskmap.prediction import predict
from snellen.taskmap.scores import TaskScores

SIZES = (60, 30, 10, 3)


@pytest.fixture(autouse=True)
def few_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chance, "DRAWS", 199)


def held(values: np.ndarray) -> TaskScores:
    models = tuple(f"m{at}" for at in range(len(values)))
    return TaskScores(models, tuple(f"t{at}" for at in range(values.shape[1])), values)


def clusters() -> dict[str, list[str]]:
    ends = np.cumsum((0, *SIZES)).tolist()
    return {
        str(size): [f"t{at}" for at in range(start, end)]
        for size, start, end in zip(SIZES, ends[:-1], ends[1:], strict=True)
    }


def test_noise_has_no_tau_and_no_domain_whatever_the_size() -> None:
    """The paper's rule calls large clusters in-domain and small ones out-of-domain."""
    rng = np.random.default_rng(41)
    taus = np.zeros(len(SIZES))
    sides = {"in": 0, "out": 0, "": 0}
    rejected, repeats = 0, 60
    for _ in range(repeats):
        found = cluster_agreement(held(rng.normal(50, 10, (20, sum(SIZES)))), clusters())
        taus += [one.tau_others or 0.0 for one in found]
        rejected += sum(one.p is not None and one.p <= 0.05 for one in found)
        for one in found:
            sides[one.domain_tested] += 1
    assert taus / repeats == pytest.approx(np.zeros(len(SIZES)), abs=0.07)
    # By Holm: one of twenty tables, not one of twenty clusters.
    assert rejected <= 0.12 * repeats
    assert sides["in"] + sides["out"] <= 0.12 * repeats


def test_cluster_with_reversed_ranking_is_tested_out() -> None:
    rng = np.random.default_rng(2)
    values = np.linspace(-20, 20, 16)[:, None] + rng.normal(50, 10, (16, sum(SIZES)))
    values[:, 90:100] = 80 - values[:, 90:100]
    found = {one.name: one for one in cluster_agreement(held(values), clusters())}
    assert [name for name, one in found.items() if one.domain_tested == "out"] == ["10"]
    assert (found["10"].tau_others or 0) < -0.5
    assert all(one.p is not None and one.p <= 0.05 for one in found.values())


def test_scores_that_are_lacking_and_clusters_that_are_everything() -> None:
    rng = np.random.default_rng(3)
    values = rng.normal(50, 10, (8, 6))
    values[0, :2] = np.nan
    found = cluster_chance(values, [0, 1])
    assert found is not None
    assert -1 <= found.tau <= 1
    assert cluster_chance(values, range(6)) is None
    assert cluster_chance(values[:1], [0]) is None
    whole = {"all": [f"t{at}" for at in range(6)]}
    (one,) = cluster_agreement(held(values), whole)
    assert (one.tau_others, one.p, one.domain_tested) == (None, None, "")


def mapped(signal: float, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Scores of 12 models on 18 tasks in 3 groups, and a map that knows the groups."""
    rng = np.random.default_rng(seed)
    groups = np.repeat(np.arange(3), 6)
    values = signal * rng.normal(0, 10, (12, 3))[:, groups] + rng.normal(50, 10, (12, 18))
    distances = 1.0 - 0.5 * (groups[:, None] == groups) + rng.uniform(0, 0.1, (18, 18))
    distances = (distances + distances.T) / 2
    np.fill_diagonal(distances, 0)
    return values, distances


def test_near_tasks_with_similar_ranks_differ_from_chance() -> None:
    values, distances = mapped(1.5, 1)
    taus = kendall_taus(values)
    every, near = add_p_values(tau_by_distance(distances, taus, (1.0, 0.6)), distances, taus)
    assert every.p is None
    assert near.p is not None
    assert near.p <= 0.01
    found = mantel_test(distances, taus)
    assert found is not None
    assert found[0] < -0.3
    assert found[1] <= 0.01
    predicted = predict(held(values), [f"t{at}" for at in range(18)], distances)
    assert predicted.p is not None
    assert predicted.p <= 0.01
    assert mantel_test(np.zeros((5, 5)), taus[:5, :5]) is None
    assert mantel_test(distances[:3, :3], taus[:3, :3]) is None


def test_map_of_noise_is_rejected_at_the_level() -> None:
    rejected = np.zeros(3)
    for seed in range(40):
        values, distances = mapped(0.0, seed)
        taus = kendall_taus(values)
        (near,) = add_p_values(tau_by_distance(distances, taus, (0.6,)), distances, taus)
        found = mantel_test(distances, taus)
        assert found is not None
        predicted = predict(held(values), [f"t{at}" for at in range(18)], distances)
        rejected += [p is not None and p <= 0.05 for p in (near.p, found[1], predicted.p)]
    assert (rejected <= 6).all()


def test_the_table_says_what_is_beyond_chance(capsys: pytest.CaptureFixture[str]) -> None:
    from rich.console import Console

    from snellen.taskmap.findings import TaskMapFindings
    from snellen.taskmap.mapping import measure_agreement

    values = np.random.default_rng(5).normal(50, 10, (20, sum(SIZES)))
    findings = TaskMapFindings(None, measure_agreement(held(values), clusters()))
    print_document(task_map_document(findings), Console())
    shown = " ".join(capsys.readouterr().out.split())
    assert "tau with the others" in shown
    assert "models permuted; p of domain: against as many random tasks" in shown
