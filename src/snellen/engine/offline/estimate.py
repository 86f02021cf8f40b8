"""What a run would ask and cost, estimated without asking a model."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import msgspec
from msgspec import Struct

from snellen.benchmarks.declaration.published_sizes import PublishedSize
from snellen.core.model import abilities
from snellen.core.output import Compared, Drawn, Failure, Generated, Ranked, Usage
from snellen.core.sample import Sample
from snellen.engine.anytime.early_stop import ComparisonRule, PrecisionRule, units_in_order
from snellen.engine.anytime.forecast import comparison_forecast, expected_stop, precision_stop_range
from snellen.engine.anytime.sample_order import SampleLinks, SampleUnit
from snellen.engine.forecast.projection import Forecast, forecast, with_range
from snellen.engine.forecast.sample_costs import Pace
from snellen.engine.forecast.wall_time import Capacity
from snellen.engine.limits.shared_prefix import CHARACTERS_PER_TOKEN
from snellen.engine.loop.plan import RunPlan, select_ids
from snellen.engine.loop.probe import capacity_of
from snellen.engine.loop.request_broker import MAIN
from snellen.engine.offline.dry_run import DryRun, DryRunCounts, RequestSize
from snellen.models.naming.image_tokens import ImageTokenRule
from snellen.scoring.accuracy import cluster_samples
from snellen.store.responses import ResponseStore

MIN_REPLIES = 30
"""Stored replies that an average requires at least."""
_QUESTION_TOKENS = 100
"""Assumed text tokens of a prompt whose data are not on this machine."""
_ROTATIONS = 4
"""Assumed options of a question whose data are not on this machine."""
_ROW_BYTES = 120
"""Bytes of a store row besides its reply: keys and their index."""


_MAX_BEGUN = 0.05
"""Share of the pending samples that may have some stored replies, as after a run was stopped."""


class Assumptions(Struct, frozen=True, kw_only=True):
    """Values that an estimate uses if there are too few stored replies."""

    accuracy: float = 0.6
    """Fraction of passes answered right, independently of each other."""
    picture_tokens: int = 1000
    reply_tokens: int = 64
    reply_bytes: int = 400


class Estimate(Struct, frozen=True, kw_only=True):
    """What is still to be asked of the model, and what it takes. None: unknown."""

    samples: int
    most_requests: int
    """Requests if every pass is answered right."""
    requests: float
    """Expected requests, with early stops of circular passes."""
    stored: int
    """Requests that the store answers."""
    equal: int
    """Requests equal to an earlier one: they are sent once."""
    unsupported: int
    """Samples that the model cannot take."""
    asked_of_others: dict[str, int]
    """Upper bound of the requests to extractors and judges, by role."""
    tokens_of_others: dict[str, Usage] = {}
    """Tokens of these requests, by role: expected ones with a forecast, else at most."""
    prompt_tokens: float
    cached_tokens: float = 0.0
    """Those of `prompt_tokens` that the provider will have cached, at a lower price."""
    completion_tokens: float
    seconds: float | None
    """Seconds of the model's work, divided by the number of concurrent requests."""
    store_bytes: float
    waves: int = 0
    """Batches that follow each other, because a question waits for the reply to another."""
    said: tuple[str, ...]
    """What each number is based on."""
    forecast: Forecast | None = None
    """Tokens, cost and time with intervals, over all roles; None if too few samples are stored."""


class MeasuredPace(NamedTuple):
    """How fast samples end."""

    replicas: int = 1
    """Copies of the model."""
    pace: Pace | None = None
    """Of one copy, as a probe measured it."""

    def total_pace(self) -> Pace | None:
        """The pace of all copies together."""
        if self.pace is None:
            return None
        scale = 1 / self.replicas
        batches = tuple(scale * each for each in self.pace.batches)
        return Pace(scale * self.pace.seconds_per_sample, self.pace.ends, batches)


def estimate(
    plan: RunPlan,
    store: ResponseStore,
    assumptions: Assumptions,
    image_rule: ImageTokenRule | None = None,
    pace: MeasuredPace = MeasuredPace(),  # noqa: B008 - frozen
    stop_rule: PrecisionRule | ComparisonRule | None = None,
    pending: set[bytes] | None = None,
) -> Estimate:
    """Estimate a run by driving its flows without asking any model.

    With `stop_rule`, only the flows up to its expected end are counted. Without one, requests with
    digests in `pending` count as equal to an earlier one, and those of this run are added. Raises
    as `run` does for data that cannot be opened.
    """
    table = plan.benchmark.open()
    selected = select_ids(plan, table)
    pending = pending if stop_rule is None else None
    inputs = _EstimateInputs(plan, store, assumptions, image_rule, pace, pending)
    samples = (sample for sample in plan.benchmark.samples(table) if sample.id in selected)
    if stop_rule is None:
        return _build_estimate(inputs, _drive_samples(inputs, samples), len(selected))
    return _estimate_with_stop(inputs, list(samples), stop_rule)


def estimate_without_data(plan: RunPlan, size: PublishedSize, assumptions: Assumptions) -> Estimate:
    """Estimate a run whose data are not on this machine, from the published number of questions.

    A question counts as one image and `_QUESTION_TOKENS` of text; under CircularEval, as
    `_ROTATIONS` passes, with early stops if the benchmark makes them.
    """
    samples = size.questions if plan.limit is None else min(plan.limit, size.questions)
    mode = plan.benchmark.parameters.get("circular", "off")
    most = 1 if mode == "off" else _ROTATIONS
    passes = float(most)
    if mode == "early":
        passes = sum(assumptions.accuracy**done for done in range(_ROTATIONS))
    draws = samples * plan.repeats
    requests = draws * passes
    rotated = "" if mode == "off" else f", {_ROTATIONS} rotations of each"
    sentence = (
        f"{size.questions:,} questions as published ({size.source}){rotated}; an image and "
        f"{_QUESTION_TOKENS} tokens of text each are assumed until the data are here"
    )
    return Estimate(
        samples=samples,
        most_requests=draws * most,
        requests=requests,
        stored=0,
        equal=0,
        unsupported=0,
        asked_of_others={},
        prompt_tokens=requests * (assumptions.picture_tokens + _QUESTION_TOKENS),
        completion_tokens=requests * assumptions.reply_tokens,
        seconds=None,
        waves=most if abilities(plan.model).batch_terms is not None else 0,
        store_bytes=requests * (assumptions.reply_bytes + _ROW_BYTES),
        said=(sentence,),
    )


def _estimate_with_stop(
    inputs: _EstimateInputs, samples: Sequence[Sample], stop_rule: PrecisionRule | ComparisonRule
) -> Estimate:
    """Estimate a run that may stop early.

    All samples are driven to learn the expected score; then only the samples up to the expected
    stop are counted.
    """
    complete = _drive_samples(inputs, samples)
    total = _build_estimate(inputs, complete, len(samples))
    pass_rate = _pass_rate(complete.counts, inputs.assumptions)
    score = complete.counts.mean_score(pass_rate.value)
    if score is None:
        return total
    seed = inputs.plan.seed
    units = units_in_order(stop_rule, inputs.plan.benchmark, samples, seed)
    if isinstance(stop_rule, ComparisonRule):
        return _add_sentence(total, comparison_forecast(units, stop_rule, score))
    stop = expected_stop(units, stop_rule, score)
    condition = f"at a score of {100 * score:.0f} ({pass_rate.basis})"
    if stop is None:
        sentence = f"not expected to be reached with {len(samples):,} samples {condition}; all are asked"
        return _add_sentence(total, f"--until {stop_rule.text}: {sentence}")
    first = [sample for unit in units[:stop] for sample in unit.samples]
    part = _build_estimate(inputs, _drive_samples(inputs, first), len(first), complete.counts)
    sentence = f"about {len(first):,} of {len(samples):,} samples {condition}"
    if part.forecast is not None:
        # How far the end may be from the expected one is part of the intervals.
        ends = precision_stop_range(units, stop_rule, complete.counts.scores)
        shortest, longest = (_forecast_of_units(inputs, units[:end], complete.counts) for end in ends[1:])
        if shortest is not None and longest is not None:
            whole = with_range(part.forecast, shortest, longest)
            part = msgspec.structs.replace(part, forecast=whole)
    part = msgspec.structs.replace(part, most_requests=total.most_requests)
    return _add_sentence(part, f"--until {stop_rule.text}: {sentence}")


def _forecast_of_units(
    inputs: _EstimateInputs, units: Sequence[SampleUnit], known_counts: DryRunCounts
) -> Forecast | None:
    samples = [sample for unit in units for sample in unit.samples]
    return _forecast(inputs, _drive_samples(inputs, samples).counts, known_counts)


class _EstimateInputs(NamedTuple):
    """What an estimate is computed from."""

    plan: RunPlan
    store: ResponseStore
    assumptions: Assumptions
    image_rule: ImageTokenRule | None
    pace: MeasuredPace
    pending: set[bytes] | None


class _DryRunResult(NamedTuple):
    counts: DryRunCounts
    image_tokens_text: str
    """A clause: how image tokens were counted."""


def _drive_samples(inputs: _EstimateInputs, samples: Iterable[Sample]) -> _DryRunResult:
    picture_tokens = inputs.assumptions.picture_tokens
    drive = DryRun(inputs.plan, inputs.store, inputs.image_rule, picture_tokens, inputs.pending)
    for sample in samples:
        drive.drive_sample(sample)
    drive.close()
    return _DryRunResult(drive.counts, drive.image_tokens_text())


def _add_sentence(result: Estimate, sentence: str) -> Estimate:
    return msgspec.structs.replace(result, said=(sentence, *result.said))


class _PassRate(NamedTuple):
    """The fraction of passes that are answered right, and what it is based on."""

    value: float
    basis: str


def _pass_rate(counts: DryRunCounts, assumptions: Assumptions) -> _PassRate:
    if counts.scored_passes >= MIN_REPLIES:
        return _PassRate(counts.correct_passes / counts.scored_passes, f"from {counts.scored_passes} stored replies")
    return _PassRate(assumptions.accuracy, "assumed")


class _TokenEstimate(NamedTuple):
    prompt: float
    completion: float
    basis: str


def _build_estimate(
    inputs: _EstimateInputs, dry_run: _DryRunResult, samples: int, all_counts: DryRunCounts | None = None
) -> Estimate:
    """The estimate of a dry run. `all_counts` are those of all samples, if `dry_run` covers only
    the samples before an expected stop."""
    assumptions, counts = inputs.assumptions, dry_run.counts
    known_counts = all_counts or counts
    pass_rate, pass_rate_basis = _pass_rate(known_counts, assumptions)
    # Replies of this very run are the best guide; other replies of the model are the next best.
    replies = known_counts.replies
    if len(replies) < MIN_REPLIES:
        replies = [*replies, *inputs.store.sample_outputs(inputs.plan.model.identity, MIN_REPLIES)]
    expected = sum(pass_rate**before * len(sizes) for before, sizes in counts.pending.items())
    max_requests = sum(map(len, counts.pending.values()))
    sentences = [f"{pass_rate:.0%} of passes are right ({pass_rate_basis})"] if len(counts.pending) > 1 else []
    answered = [reply for reply in replies if not isinstance(reply, Failure)]
    tokens = _estimate_tokens(counts, answered, assumptions, pass_rate, dry_run.image_tokens_text)
    time = _estimate_seconds(inputs, answered, expected)
    projected = _forecast(inputs, counts, known_counts)
    seconds = time.seconds
    if projected is not None and MAIN in projected.roles:
        main = projected.roles[MAIN]
        tokens = _TokenEstimate(main.prompt_tokens.expected, main.completion_tokens.expected, "")
        seconds = seconds if projected.seconds is None else projected.seconds.expected
    elif max_requests:
        sentences += [f"tokens: {tokens.basis}", *time.said]
    size = float(assumptions.reply_bytes)
    if answered:
        size = sum(len(msgspec.json.encode(reply)) for reply in answered) / len(answered)
    return Estimate(
        samples=samples,
        most_requests=max_requests,
        requests=expected,
        stored=counts.stored,
        equal=counts.equal,
        unsupported=counts.unsupported,
        asked_of_others=dict(counts.other_roles),
        tokens_of_others=_tokens_of_others(counts, assumptions, projected),
        prompt_tokens=tokens.prompt,
        cached_tokens=tokens.prompt * _cached_share(counts, pass_rate),
        completion_tokens=tokens.completion,
        seconds=None if counts.waves else seconds if max_requests else 0.0,
        waves=counts.waves,
        store_bytes=expected * (size + _ROW_BYTES),
        said=tuple(sentences),
        forecast=projected,
    )


class _TimeEstimate(NamedTuple):
    seconds: float | None
    said: tuple[str, ...] = ()


def _estimate_seconds(
    inputs: _EstimateInputs, answered: Sequence[Generated | Ranked | Drawn | Compared], requests: float
) -> _TimeEstimate:
    """Of so many requests, by the times of stored replies."""
    times = [reply.seconds for reply in answered if reply.seconds]
    if not times:
        return _TimeEstimate(None)
    capacity = _capacity(inputs)
    concurrency = capacity.concurrency[capacity.accounts[MAIN]]
    seconds = requests * sum(times) / len(times) / concurrency
    return _TimeEstimate(seconds, (f"time: from {len(times)} stored replies, {concurrency} at a time",))


def _forecast(inputs: _EstimateInputs, counts: DryRunCounts, known_counts: DryRunCounts) -> Forecast | None:
    """A projection of pending samples from those whose replies are all stored; None if there are
    too few of these, if the model does not report its tokens, or if there are many samples of which
    some replies are stored: they take less than others, and those of which all are stored may have
    ended early."""
    if not any(sample.of(MAIN).tokens for sample in known_counts.measured):
        return None
    pending = [*counts.pending_samples, *counts.begun_samples]
    if not pending or len(counts.begun_samples) > _MAX_BEGUN * len(pending):
        return None
    return forecast(known_counts.measured, pending, inputs.plan.prices, _capacity(inputs), inputs.pace.total_pace())


def _capacity(inputs: _EstimateInputs) -> Capacity:
    plan = inputs.plan
    return capacity_of({MAIN: plan.model, **plan.roles}, inputs.pace.replicas)


def _tokens_of_others(counts: DryRunCounts, assumptions: Assumptions, projected: Forecast | None) -> dict[str, Usage]:
    """Tokens of extractors and judges, by role: as projected, or at most as many as assumed."""
    if projected is not None:
        return {
            role: Usage(round(part.prompt_tokens.expected), round(part.completion_tokens.expected))
            for role, part in projected.roles.items()
            if role != MAIN
        }
    return {
        role: Usage(round(sum(size.tokens for size in sizes)), len(sizes) * assumptions.reply_tokens)
        for role, sizes in counts.other_sizes.items()
    }


def _estimate_tokens(
    counts: DryRunCounts,
    answered: Sequence[Generated | Ranked | Drawn | Compared],
    assumptions: Assumptions,
    pass_rate: float,
    image_tokens_text: str,
) -> _TokenEstimate:
    """Tokens of the expected requests: the mean of stored replies, else from text and images."""
    weights = _weighted_sizes(counts, pass_rate)
    expected = sum(weight for weight, _ in weights)
    usages = [output.usage for output in answered if output.usage is not None]
    if len(usages) >= MIN_REPLIES:
        prompt = sum(usage.prompt_tokens for usage in usages) / len(usages)
        reply = sum(usage.completion_tokens for usage in usages) / len(usages)
        return _TokenEstimate(expected * prompt, expected * reply, f"from {len(usages)} stored replies")
    prompt = sum(weight * size.tokens for weight, size in weights)
    basis = (
        f"{CHARACTERS_PER_TOKEN} characters a token; {image_tokens_text}"
        f"{assumptions.reply_tokens} tokens a reply (assumed)"
    )
    return _TokenEstimate(prompt, expected * assumptions.reply_tokens, basis)


def _weighted_sizes(counts: DryRunCounts, pass_rate: float) -> list[tuple[float, RequestSize]]:
    """Each request that may be sent, with the probability that it is."""
    return [(pass_rate**before, size) for before, sizes in counts.pending.items() for size in sizes]


def _cached_share(counts: DryRunCounts, pass_rate: float) -> float:
    """Share of the tokens of the expected prompts that the provider will have cached."""
    weights = _weighted_sizes(counts, pass_rate)
    cached = sum(weight * size.cached_tokens for weight, size in weights)
    return cached / sum(weight * size.tokens for weight, size in weights) if cached else 0.0


def cluster_sizes(plan: RunPlan) -> list[int]:
    """Sizes of the clusters of correlated samples (`cluster_samples`) that a run asks, in order of
    their first sample. Raises as `run` does for data that cannot be opened."""
    table = plan.benchmark.open()
    selected = select_ids(plan, table)
    links = [
        SampleLinks(sample.unit, tuple(ref.digest for ref in sample.media))
        for sample in plan.benchmark.samples(table)
        if sample.id in selected
    ]
    # A sample without a cluster is a cluster of size 1.
    counts = Counter(name or f"\0{index}" for index, name in enumerate(cluster_samples(links)))
    return list(counts.values())
