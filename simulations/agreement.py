"""Our formulas beside scipy, statsmodels and worked examples of papers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import scipy.cluster.hierarchy
import scipy.spatial.distance
import scipy.stats
import statsmodels.api as sm
from statsmodels.stats import contingency_tables, inter_rater
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.proportion import proportion_confint

from snellen.stats.agreement import cohen_kappa, fleiss_kappa
from snellen.stats.chi_square import pearson, upper_tail
from snellen.stats.intervals import standard_error, wilson
from snellen.stats.items import discrimination
from snellen.stats.paired import holm, mcnemar, paired_mean
from snellen.stats.student_t import two_sided_quantile, two_sided_tail
from snellen.taskmap.agreement import kendall_tau
from snellen.taskmap.clusters import build_tree, cophenetic_correlation


class Agreement(NamedTuple):
    """One number, computed by us and by others."""

    what: str
    against: str
    ours: Callable[[], float | None]
    theirs: Callable[[], float]
    within: float = 1e-9
    """The relative difference that is allowed; a paper prints few digits."""

    def difference(self) -> float:
        """Relative to theirs."""
        ours, theirs = self.ours(), self.theirs()
        assert ours is not None
        return abs(ours - theirs) / abs(theirs)


_FAGERLAND = "Fagerland, Lydersen and Laake, Statistics in Medicine 33 (2014)"
_CLUSTERED = "statsmodels (OLS, cov_type cluster)"
_DIFFERENCES = np.random.default_rng(3).normal(0.1, 0.3, 30).round(2)
_PAIRS = np.arange(30) // 2
_COUNTS, _SHARES = (12, 20, 28), (0.25, 0.25, 0.5)
_P_VALUES = (0.01, 0.04, 0.03, 0.005)
_FIRST = (1, 2, 3, 3, 2, 1, 1, 4, 2, 3)
_SECOND = (1, 2, 3, 2, 2, 1, 2, 4, 2, 1)
# Fourteen judges, ten things, five categories (Fleiss 1971's form).
_GRADES = (
    (0, 0, 0, 0, 14),
    (0, 2, 6, 4, 2),
    (0, 0, 3, 5, 6),
    (0, 3, 9, 2, 0),
    (2, 2, 8, 1, 1),
    (7, 7, 0, 0, 0),
    (3, 2, 6, 3, 0),
    (2, 5, 3, 2, 2),
    (6, 5, 2, 1, 0),
    (0, 2, 2, 3, 7),
)
_VALUES = np.random.default_rng(1).random((12, 6))
_LABELS = [place // 4 for place in range(24)]
_SCORES = np.random.default_rng(2).random(24).round(2)


def _pearson() -> float | None:
    found = pearson([(_COUNTS, _SHARES)])
    return found.statistic if found else None


def _tango() -> tuple[float, float]:
    """One wins 1 sample alone, the other 7, of 21."""
    differences = np.array([1.0] + [-1.0] * 7 + [0.0] * 13)
    interval = paired_mean(differences, np.arange(21)).interval
    assert interval is not None
    return interval.low, interval.high


def _clustered_p() -> float | None:
    return paired_mean(_DIFFERENCES, _PAIRS).p


def _grades() -> list[list[float]]:
    return [[c for c, count in enumerate(row) for _ in range(count)] for row in _GRADES]


def _fitted(values: np.ndarray, clusters: np.ndarray) -> Any:
    """A regression on a constant, whose error knows the clusters."""
    return sm.OLS(values, np.ones(len(values))).fit(cov_type="cluster", cov_kwds={"groups": clusters}, use_t=True)


def _distances() -> np.ndarray:
    return scipy.spatial.distance.squareform(scipy.spatial.distance.pdist(_VALUES))


def _cophenetic() -> float:
    flat = scipy.spatial.distance.pdist(_VALUES)
    return float(scipy.cluster.hierarchy.cophenet(scipy.cluster.hierarchy.linkage(flat, method="average"), flat)[0])


def _mcnemar(exact: bool) -> float:
    return float(contingency_tables.mcnemar([[1, 1], [7, 12]], exact=exact).pvalue)


AGREEMENTS = (
    Agreement(
        "Student's t, 97.5 % quantile, 1 degree of freedom",
        "scipy",
        lambda: two_sided_quantile(0.95, 1),
        lambda: float(scipy.stats.t.ppf(0.975, 1)),
    ),
    Agreement(
        "the same, 7 degrees", "scipy", lambda: two_sided_quantile(0.95, 7), lambda: float(scipy.stats.t.ppf(0.975, 7))
    ),
    Agreement(
        "the same, 250 degrees",
        "scipy",
        lambda: two_sided_quantile(0.95, 250),
        lambda: float(scipy.stats.t.ppf(0.975, 250)),
        1e-7,
    ),
    Agreement(
        "upper tail of chi-square, 12.3 on 5 degrees",
        "scipy",
        lambda: upper_tail(12.3, 5),
        lambda: float(scipy.stats.chi2.sf(12.3, 5)),
    ),
    Agreement(
        "Wilson's interval, 81 of 263, lower end",
        "statsmodels",
        lambda: wilson(81, 263).low,
        lambda: float(proportion_confint(81, 263, method="wilson")[0]),
    ),
    Agreement(
        "the same, upper end",
        "Newcombe, Statistics in Medicine 17 (1998), Table I",
        lambda: wilson(81, 263).high,
        lambda: 0.3662,
        2e-4,
    ),
    Agreement("McNemar's exact p, 1 against 7", "statsmodels", lambda: mcnemar(1, 7).exact, lambda: _mcnemar(True)),
    Agreement(
        "McNemar's mid-p, 1 against 7",
        "Fagerland et al., BMC Med. Res. Meth. 13:91 (2013)",
        lambda: mcnemar(1, 7).mid_p,
        lambda: 0.039,
        5e-3,
    ),
    Agreement(
        "Holm's adjustment, the largest of four",
        "statsmodels",
        lambda: max(holm(_P_VALUES)),
        lambda: float(max(multipletests(_P_VALUES, method="holm")[1])),
    ),
    Agreement("Tango's interval, 1 against 7 of 21, lower end", _FAGERLAND, lambda: _tango()[0], lambda: -0.517, 1e-3),
    Agreement("the same, upper end", _FAGERLAND, lambda: _tango()[1], lambda: -0.026, 2e-2),
    Agreement(
        "p of a mean difference over 15 clusters of two",
        _CLUSTERED,
        _clustered_p,
        lambda: float(_fitted(_DIFFERENCES, _PAIRS).pvalues[0]),
    ),
    Agreement(
        "Student's t, two tails of 2.5 on 6.3 degrees",
        "scipy",
        lambda: two_sided_tail(2.5, 6.3),
        lambda: float(2 * scipy.stats.t.sf(2.5, 6.3)),
    ),
    Agreement(
        "Pearson's chi-square of three counts",
        "scipy",
        _pearson,
        lambda: float(scipy.stats.chisquare(_COUNTS, 60 * np.array(_SHARES)).statistic),
    ),
    Agreement(
        "Cohen's kappa, two judges",
        "statsmodels",
        lambda: cohen_kappa(_FIRST, _SECOND),
        lambda: float(inter_rater.cohens_kappa(inter_rater.to_table(np.array([_FIRST, _SECOND]).T)[0]).kappa),
    ),
    Agreement(
        "Fleiss' kappa, fourteen judges",
        "statsmodels",
        lambda: fleiss_kappa(_grades()),
        lambda: float(inter_rater.fleiss_kappa(np.array(_GRADES))),
    ),
    Agreement(
        "standard error of a mean over clusters",
        _CLUSTERED,
        lambda: standard_error(_SCORES.tolist(), [f"c{one}" for one in _LABELS]),
        lambda: float(_fitted(_SCORES, np.array(_LABELS)).bse[0]),
    ),
    Agreement(
        "Kendall's tau, no ties",
        "scipy",
        lambda: kendall_tau(_VALUES[:, 0].tolist(), _VALUES[:, 1].tolist()),
        lambda: float(scipy.stats.kendalltau(_VALUES[:, 0], _VALUES[:, 1]).statistic),
    ),
    Agreement(
        "discrimination of an item",
        "numpy.corrcoef",
        lambda: float(discrimination(_VALUES)[0]),
        lambda: float(np.corrcoef(_VALUES[0], _VALUES[1:].sum(axis=0))[0, 1]),
    ),
    Agreement(
        "cophenetic correlation, average linkage",
        "scipy",
        lambda: cophenetic_correlation(build_tree(_distances()), _distances()),
        _cophenetic,
    ),
)
