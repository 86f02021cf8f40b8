"""Score and cost of a run as if its replies had been limited to fewer tokens.

A reply of n tokens is what a smaller limit of at least n gives too, word for word if the model
takes its likeliest tokens. A longer one would have been cut: it counts as wrong here, and as many
tokens as the limit as spent. Both hold for a model that does not know its limit and states its
answer at the end; where an answer stands early in a long reply, the true score is higher.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from snellen.core.arrays import Floats, np
from snellen.core.output import Generated
from snellen.core.record import Record, draws_of
from snellen.core.summary import Interval
from snellen.scoring.accuracy import cluster_samples
from snellen.stats.intervals import score_interval
from snellen.stats.linearised import unbounded_interval_of_sums

_MAX_BUDGETS = 12
_PER = 1_000_000


class PassTokens(NamedTuple):
    """Tokens of one prompt and its reply."""

    prompt: int
    reply: int


class DrawTokens(NamedTuple):
    """One draw of a sample: its passes, its score (0..1) and its cluster."""

    passes: tuple[PassTokens, ...]
    score: float
    cluster: str = ""


class _ClusterKeys(NamedTuple):
    """What makes samples correlated (`cluster_samples`)."""

    unit: str
    media: tuple[str, ...]


class BudgetPoint(NamedTuple):
    """What a run would have had with at most `budget` tokens a reply."""

    budget: int
    cut: int
    """Samples with a reply that is longer."""
    samples: int
    score: float
    """Mean, 0..100."""
    score_interval: Interval | None
    tokens: float
    """Of prompts and replies, per sample."""
    right_per_million: float
    """Right answers per million tokens of prompts and replies."""
    right_interval: Interval | None


class CountedDraws(NamedTuple):
    """The scored draws of a run whose replies have counts of tokens."""

    draws: list[DrawTokens]
    uncounted: int
    """Scored draws that are left out: a reply has no count."""
    cut: int
    """Draws with a reply that was cut at the run's own limit."""
    repeated_passes: int
    """Draws of several replies."""


def token_counts(records: Iterable[Record]) -> CountedDraws:
    """The tokens and scores of a run's samples; each draw of a repeated one for itself."""
    draws: list[DrawTokens] = []
    owners: list[int] = []
    """The sample of each draw, as an index of `links`."""
    links: list[_ClusterKeys] = []
    uncounted = cut = several = 0
    for index, record in enumerate(records):
        links.append(_ClusterKeys(record.unit, record.media))
        for draw in draws_of(record):
            if draw.score is None:
                continue
            replies = [each.output for each in draw.passes if isinstance(each.output, Generated)]
            usages = [reply.usage for reply in replies if reply.usage is not None]
            if not usages or len(usages) < len(draw.passes):
                uncounted += 1
                continue
            passes = tuple(PassTokens(each.prompt_tokens, each.completion_tokens) for each in usages)
            draws.append(DrawTokens(passes, draw.score))
            owners.append(index)
            cut += any(reply.stop_reason == "length" for reply in replies)
            several += len(passes) > 1
    clusters = cluster_samples(links)
    draws = [
        draw._replace(cluster=clusters[index] or f"sample {index}") for draw, index in zip(draws, owners, strict=True)
    ]
    return CountedDraws(draws, uncounted, cut, several)


def usual_budgets(draws: Sequence[DrawTokens], limit: int) -> list[int]:
    """Powers of two around the lengths of the replies, up to the run's own `limit`."""
    lengths = sorted(each.reply for draw in draws for each in draw.passes)
    # Below the shortest twentieth, nearly everything would be cut.
    shortest, longest = max(1, lengths[len(lengths) // 20]), lengths[-1]
    last = min(limit, 2 ** math.ceil(math.log2(max(1, longest)))) if limit else longest
    first = math.floor(math.log2(shortest))
    powers = [2**power for power in range(first, 40) if 2**power < last]
    return [*powers[-_MAX_BUDGETS + 1 :], last]


def budget_curve(draws: Sequence[DrawTokens], budgets: Iterable[int], *, stops_early: bool) -> Iterator[BudgetPoint]:
    """A point for each budget. With `stops_early` (CircularEval) no pass is asked after one that
    was cut, which cannot be right."""
    clusters = [draw.cluster for draw in draws]
    for budget in budgets:
        is_cut = [any(each.reply > budget for each in draw.passes) for draw in draws]
        scores = [0.0 if cut else draw.score for draw, cut in zip(draws, is_cut, strict=True)]
        tokens = [_tokens(draw, budget, stops_early) for draw in draws]
        interval = score_interval(scores, clusters)
        rows = np.array([scores, tokens], dtype=np.float64).T
        yield BudgetPoint(
            budget=budget,
            cut=sum(is_cut),
            samples=len(draws),
            score=100 * math.fsum(scores) / len(draws),
            score_interval=interval and interval.scale(),
            tokens=sum(tokens) / len(draws),
            right_per_million=float(_right_per_million(rows.sum(axis=0, keepdims=True))[0]),
            right_interval=unbounded_interval_of_sums(rows, _right_per_million, clusters),
        )


def _right_per_million(sums: Floats) -> Floats:
    return _PER * sums[:, 0] / np.maximum(sums[:, 1], 1e-300)


def _tokens(draw: DrawTokens, budget: int, stops_early: bool) -> int:
    total = 0
    for each in draw.passes:
        total += each.prompt + min(each.reply, budget)
        if stops_early and each.reply > budget:
            break
    return total
