"""Distances, trees, Kendall's tau and predictions: by hand, and against scipy."""

from __future__ import annotations

import math
from pathlib import Path
from typing import get_args

import numpy as np
import pytest
from scipy.cluster import hierarchy
from scipy.spatial.distance import pdist, squareform
from scipy.stats import kendalltau

from snellen.cli.commands.taskmap import LINKAGES as OFFERED_LINKAGES
from snellen.cli.commands.taskmap import TIES as OFFERED_TIES
from snellen.core.errors import DataError, UsageError
from snellen.taskmap.agreement import (
    Ties,
    cluster_agreement,
    kendall_tau,
    kendall_taus,
    mean_tau,
    tau_by_distance,
    tau_by_share,
)
from snellen.taskmap.clusters import Linkage, build_tree, cophenetic_correlation, cut_tree
from snellen.taskmap.mapping import compare_halves
from snellen.taskmap.prediction import predict
from snellen.taskmap.scores import TaskScores, read_clusters, read_overall, read_scores
from snellen.taskmap.vectors import cosine_distances, gram_of_products, nearest_tasks

random = np.random.default_rng(3)


def some_distances(tasks: int = 9) -> np.ndarray:
    return squareform(pdist(random.normal(size=(tasks, 5)), "cosine"))


def test_products_are_compared_without_being_made() -> None:
    downs, ups = random.normal(size=(5, 3, 11)), random.normal(size=(5, 7, 3))
    whole = np.stack([(up @ down).ravel() for up, down in zip(ups, downs, strict=True)])
    assert gram_of_products(downs, ups) == pytest.approx(whole @ whole.T)
    distances = cosine_distances(gram_of_products(downs, ups))
    assert distances == pytest.approx(squareform(pdist(whole, "cosine")))
    assert (np.diag(distances) == 0).all()


def test_a_vector_without_length_has_no_direction() -> None:
    with pytest.raises(ValueError, match="vector 1 has no length"):
        cosine_distances(np.diag([2.0, 0.0]))


def test_opposite_vectors_are_farthest() -> None:
    vectors = np.array([[1.0, 2.0], [-2.0, -4.0], [2.0, -1.0]])
    distances = cosine_distances(vectors @ vectors.T)
    assert distances[0] == pytest.approx([0, 2, 1])
    assert nearest_tasks(distances, 0, [0, 1, 2], 1) == [2]


@pytest.mark.parametrize("linkage", get_args(Linkage))
def test_trees_are_cut_and_measured_as_scipy_does(linkage) -> None:
    distances = some_distances()
    tree = build_tree(distances, linkage)
    merged = hierarchy.linkage(squareform(distances, checks=False), linkage)
    for count in (1, 3, 9, 40):
        theirs = hierarchy.fcluster(merged, min(count, 9), "maxclust")
        wanted = {frozenset(np.flatnonzero(theirs == label)) for label in set(theirs)}
        ours = cut_tree(tree, count)
        assert {frozenset(found) for found in ours} == wanted
        assert [task for found in ours for task in found] == list(tree.order)
    theirs, _ = hierarchy.cophenet(merged, squareform(distances, checks=False))
    assert cophenetic_correlation(tree, distances) == pytest.approx(theirs)


def test_tau_without_ties_is_scipys() -> None:
    values = random.normal(size=(12, 4))
    taus = kendall_taus(values)
    for one in range(4):
        for other in range(4):
            wanted = kendalltau(values[:, one], values[:, other]).statistic
            assert taus[one, other] == pytest.approx(wanted)
    assert kendall_taus(values, "one") == pytest.approx(taus)


def test_ties_count_nothing_or_as_agreement() -> None:
    one, other = [1.0, 2.0, 2.0], [1.0, 3.0, 4.0]
    assert kendall_tau(one, other) == pytest.approx(2 / 3)
    assert kendall_tau(one, other, "one") == pytest.approx(1)
    assert kendall_tau(one, one) == pytest.approx(2 / 3)
    assert kendall_tau([1.0], [2.0]) is None


def test_models_without_a_score_are_left_out_of_their_pairs() -> None:
    values = np.array([[1.0, 1.0], [2.0, 2.0], [3.0, math.nan], [4.0, 3.0]])
    assert kendall_taus(values)[0, 1] == pytest.approx(1)
    assert kendall_tau([1.0, math.nan], [2.0, 3.0]) is None


def test_tau_by_distance_by_hand() -> None:
    distances = np.array([[0, 0.2, 1.0], [0.2, 0, 0.8], [1.0, 0.8, 0]])
    taus = np.array([[1, 0.6, 0.1], [0.6, 1, 0.3], [0.1, 0.3, 1]])
    every, near, none = tau_by_distance(distances, taus, (1.0, 0.25, 0.1))
    assert every.tau == pytest.approx(((0.6 + 0.1) / 2 + (0.6 + 0.3) / 2 + (0.1 + 0.3) / 2) / 3)
    assert (every.tasks, every.pairs) == (3, 3)
    assert (near.tau, near.tasks, near.pairs) == (pytest.approx(0.6), 2, 1)
    assert (none.tau, none.tasks, none.pairs) == (None, 0, 0)
    assert mean_tau(taus) == pytest.approx(every.tau)
    with_itself = tau_by_distance(distances, taus, (0.25, 0.1), itself=True)
    assert [one.tau for one in with_itself] == pytest.approx([(0.8 + 0.8 + 1) / 3, 1])


def scores(values: list[list[float]], tasks: str = "abcd") -> TaskScores:
    names = tuple(f"model {number}" for number in range(len(values)))
    return TaskScores(names, tuple(tasks[: len(values[0])]), np.array(values))


def test_domains_need_accuracy_and_tau() -> None:
    held = scores([[90, 80, 10, 40], [80, 70, 20, 30], [70, 60, 30, 20]])
    clusters = {"easy": ("a", "b"), "odd": ("c",), "hard": ("d",)}
    overall = {"model 0": 3.0, "model 1": 2.0, "model 2": 1.0}
    easy, odd, hard = cluster_agreement(held, clusters, overall)
    assert (easy.accuracy, easy.tau, easy.domain) == (75.0, 1.0, "in")
    assert (odd.accuracy, odd.tau, odd.domain) == (20.0, -1.0, "out")
    assert (hard.accuracy, hard.tau, hard.domain) == (30.0, 1.0, "")
    with pytest.raises(UsageError, match="'model 1' has scores on tasks, but no overall score"):
        cluster_agreement(held, clusters, {"model 0": 3.0, "model 2": 1.0})
    with pytest.raises(UsageError, match="no model has a score on 'e'"):
        cluster_agreement(held, {"x": ("e",)})


def test_scores_are_predicted_from_the_nearest_tasks() -> None:
    held = scores([[10, 12, 50, 52], [20, 22, 30, 32]])
    distances = np.full((5, 5), 1.0)
    for one, other in ((0, 1), (2, 3), (2, 4), (3, 4)):
        distances[one, other] = distances[other, one] = 0.1
    found = predict(held, [*"abcd", "new"], distances, count=1)
    assert [one.neighbours for one in found.left_out] == [("b",), ("a",), ("d",), ("c",)]
    assert found.error == pytest.approx(2)
    assert found.plain_error is not None
    assert found.plain_error > 10
    (new,) = found.predicted
    assert new.task == "new"
    assert new.scores == {"model 0": 50.0, "model 1": 30.0}


def test_halves_that_are_not_nearest_neighbours_are_named() -> None:
    names = ["a/1", "a/2", "b/1", "b/2"]
    distances = np.array([[0, 0.2, 0.9, 0.8], [0.2, 0, 0.7, 1.0], [0.9, 0.7, 0, 0.75], [0.8, 1.0, 0.75, 0]])
    a, b = compare_halves(names, distances)
    assert (a.task, a.apart, a.nearest, a.nearer_than) == ("a", False, "b/1", 1.0)
    assert (b.apart, b.nearest, b.nearest_distance, b.nearer_than) == (True, "a/2", 0.7, 0.75)


def test_shares_of_pairs_fill_every_row() -> None:
    # Far apart all of them, as task vectors are: nothing is within half of the largest distance.
    distances = np.array([[0, 0.6, 0.7, 0.8], [0.6, 0, 0.9, 0.95], [0.7, 0.9, 0, 1.0], [0.8, 0.95, 1.0, 0]])
    taus = np.array([[1, 0.9, 0.6, 0.3], [0.9, 1, 0.2, 0.1], [0.6, 0.2, 1, 0], [0.3, 0.1, 0, 1]])
    paper = tau_by_distance(distances, taus)
    assert [row.pairs for row in paper] == [6, 0, 0, 0, 0]
    ours = tau_by_share(distances, taus, (1.0, 1 / 2, 1 / 6))
    assert [row.share for row in ours] == [1.0, 1 / 2, 1 / 6]
    assert [row.pairs for row in ours] == [6, 3, 1]
    assert ours[0].tau == paper[0].tau
    # The first task's neighbours are all others, and theirs is the first.
    assert ours[1].threshold == pytest.approx(0.8)
    assert ours[1].tau == pytest.approx((0.6 + 0.9 + 0.6 + 0.3) / 4)
    assert ours[2].tau == pytest.approx(0.9)
    assert tau_by_share(np.zeros((3, 3)), np.ones((3, 3))) == []


def test_scores_are_read(tmp_path: Path) -> None:
    file = tmp_path / "scores.csv"
    file.write_text("model,task,note,score\nx,a,,1\nx,b,,-\ny,a,,3\ny,b,,4\n")
    found = read_scores(file)
    assert (found.models, found.tasks) == (("x", "y"), ("a", "b"))
    assert found.values == pytest.approx(np.array([[1, math.nan], [3, 4]]), nan_ok=True)
    assert found.select_tasks(["b"]).values[1] == [4]
    with pytest.raises(UsageError, match="1 models are left"):
        found.without_models(["x"])
    with pytest.raises(UsageError, match="no model 'z'"):
        found.without_models(["z"])


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("model,accuracy\nx,1\n", "has no column subtask or task or category"),
        ("model,task,score\nx,a,1\nx,a,2\n", "line 3: 'x' has a second score on 'a'"),
        ("model,task,score\nx,a,good\n", "line 2: 'good' is no number"),
        ("model,task,score\nx,a,1\n", "fewer than two models"),
    ],
)
def test_bad_scores_give_one_sentence(tmp_path: Path, text: str, sentence: str) -> None:
    file = tmp_path / "scores.csv"
    file.write_text(text)
    with pytest.raises(DataError, match=sentence):
        read_scores(file)


def test_clusters_and_overall_are_read(tmp_path: Path) -> None:
    file = tmp_path / "clusters.csv"
    file.write_text("cluster,subtask\n1,a\n2,b\n1,c\n")
    assert read_clusters(file) == {"1": ("a", "c"), "2": ("b",)}
    file.write_text("cluster,subtask\n1,a\n2,a\n")
    with pytest.raises(DataError, match="line 3: 'a' is already in line 2"):
        read_clusters(file)
    file.write_text("model,overall,rank\nx,1.5,1\n")
    assert read_overall(file) == {"x": 1.5}


def test_the_command_offers_every_rule() -> None:
    assert get_args(Linkage) == OFFERED_LINKAGES
    assert get_args(Ties) == OFFERED_TIES
