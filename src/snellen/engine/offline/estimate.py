"""What a run would ask and cost, told without asking."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import msgspec
from msgspec import Struct

from snellen.core.output import Compared, Drawn, Failure, Generated, Ranked
from snellen.core.sample import Sample
from snellen.engine.anytime.early_stop import ComparisonRule, PrecisionRule
from snellen.engine.anytime.forecast import comparison_forecast, expected_stop
from snellen.engine.anytime.headline_weights import headline_weights
from snellen.engine.anytime.sample_order import stratified_order
from snellen.engine.loop.plan import RunPlan, select_ids
from snellen.engine.offline.dry_run import DryRun, DryRunCounts
from snellen.models.naming.image_tokens import ImageTokenRule
from snellen.store.responses import ResponseStore

CHARACTERS_PER_TOKEN = 4
MIN_REPLIES = 30
"""Stored replies from which an average is taken."""
_ROW_BYTES = 120
"""Of a row of the store beside its reply: keys and their index."""


class Assumptions(Struct, frozen=True, kw_only=True):
    """What is taken for granted where nothing was measured."""

    accuracy: float = 0.6
    """Share of passes answered right, each independent of the others."""
    picture_tokens: int = 1000
    reply_tokens: int = 64
    reply_bytes: int = 400


class Estimate(Struct, frozen=True, kw_only=True):
    """What is still to be asked of the model, and what that takes. None: nobody knows."""

    samples: int
    most_requests: int
    """If every pass were answered right."""
    requests: float
    """Expected, early stop included."""
    stored: int
    """Requests that the store answers."""
    equal: int
    """Requests that read as one before them does: they are sent once."""
    unsupported: int
    """Samples that are beyond the model."""
    asked_of_others: dict[str, int]
    """Requests to readers and judges, at most, by role."""
    prompt_tokens: float
    completion_tokens: float
    seconds: float | None
    """Of the model's own work, divided by the requests it takes at a time."""
    store_bytes: float
    said: tuple[str, ...]
    """What each number rests on."""


def estimate(
    plan: RunPlan,
    store: ResponseStore,
    assumptions: Assumptions,
    image_rule: ImageTokenRule | None = None,
    concurrency: int = 1,
    stop_rule: PrecisionRule | ComparisonRule | None = None,
) -> Estimate:
    """Estimate a run by driving its flows without asking any model.

    With `stop_rule`, only the flows up to its expected end are counted. Raises as `run` does for
    data that cannot be opened.
    """
    table = plan.benchmark.open()
    chosen = select_ids(plan, table)
    inputs = _EstimateInputs(plan, store, assumptions, image_rule, concurrency)
    every = (sample for sample in plan.benchmark.samples(table) if sample.id in chosen)
    if stop_rule is None:
        return _build_estimate(inputs, _drive_samples(inputs, every), len(chosen))
    return _estimate_with_stop(inputs, list(every), stop_rule)


def _estimate_with_stop(
    inputs: _EstimateInputs, samples: Sequence[Sample], stop_rule: PrecisionRule | ComparisonRule
) -> Estimate:
    """Of a run that may stop early. What all samples tell, the first ones are estimated by."""
    complete = _drive_samples(inputs, samples)
    total = _build_estimate(inputs, complete, len(samples))
    pass_rate = _pass_rate(complete.counts, inputs.assumptions)
    score = complete.counts.mean_score(pass_rate.value)
    if score is None:
        return total
    seed = inputs.plan.seed
    if isinstance(stop_rule, ComparisonRule):
        return _add_sentence(
            total, comparison_forecast(stratified_order(samples, seed), stop_rule, score)
        )
    weights = headline_weights(inputs.plan.benchmark, samples).by_sample
    units = stratified_order(samples, seed, by_media=False, weights=weights)
    stop = expected_stop(units, stop_rule, score)
    at = f"at a score of {100 * score:.0f} ({pass_rate.basis})"
    if stop is None:
        sentence = f"not expected to be reached with {len(samples):,} samples {at}; all are asked"
        return _add_sentence(total, f"--until {stop_rule.text}: {sentence}")
    first = [sample for unit in units[:stop] for sample in unit.samples]
    part = _build_estimate(inputs, _drive_samples(inputs, first), len(first), complete.counts)
    sentence = f"about {len(first):,} of {len(samples):,} samples {at}"
    part = msgspec.structs.replace(part, most_requests=total.most_requests)
    return _add_sentence(part, f"--until {stop_rule.text}: {sentence}")


class _EstimateInputs(NamedTuple):
    """What an estimate rests on."""

    plan: RunPlan
    store: ResponseStore
    assumptions: Assumptions
    image_rule: ImageTokenRule | None
    concurrency: int


class _DryRunResult(NamedTuple):
    counts: DryRunCounts
    image_tokens_text: str
    """How the tokens of pictures were counted."""


def _drive_samples(inputs: _EstimateInputs, samples: Iterable[Sample]) -> _DryRunResult:
    picture_tokens = inputs.assumptions.picture_tokens
    drive = DryRun(inputs.plan, inputs.store, inputs.image_rule, picture_tokens)
    for sample in samples:
        drive.drive_sample(sample)
    drive.close()
    return _DryRunResult(drive.counts, drive.image_tokens_text())


def _add_sentence(result: Estimate, sentence: str) -> Estimate:
    return msgspec.structs.replace(result, said=(sentence, *result.said))


class _PassRate(NamedTuple):
    """Of passes that are right."""

    value: float
    basis: str


def _pass_rate(counts: DryRunCounts, assumptions: Assumptions) -> _PassRate:
    if counts.scored_passes >= MIN_REPLIES:
        return _PassRate(
            counts.correct_passes / counts.scored_passes,
            f"from {counts.scored_passes} stored replies",
        )
    return _PassRate(assumptions.accuracy, "assumed")


class _TokenEstimate(NamedTuple):
    prompt: float
    completion: float
    basis: str


def _build_estimate(
    inputs: _EstimateInputs,
    dry_run: _DryRunResult,
    samples: int,
    all_counts: DryRunCounts | None = None,
) -> Estimate:
    """`all_counts`: of all samples, where `dry_run` went through the first alone."""
    assumptions, counts = inputs.assumptions, dry_run.counts
    known_counts = all_counts or counts
    share, why = _pass_rate(known_counts, assumptions)
    # Replies of this run tell most; others of the same model are better than none.
    replies = known_counts.replies
    if len(replies) < MIN_REPLIES:
        replies = [*replies, *inputs.store.sample_outputs(inputs.plan.model.identity, MIN_REPLIES)]
    expected = sum(share**before * len(sizes) for before, sizes in counts.pending.items())
    max_requests = sum(map(len, counts.pending.values()))
    sentences = [f"{share:.0%} of passes are right ({why})"] if len(counts.pending) > 1 else []
    answered = [one for one in replies if not isinstance(one, Failure)]
    tokens = _estimate_tokens(counts, answered, assumptions, share, dry_run.image_tokens_text)
    if max_requests:
        sentences.append(f"tokens: {tokens.basis}")
    times = [one.seconds for one in answered if one.seconds]
    seconds = expected * sum(times) / len(times) / inputs.concurrency if times else None
    if max_requests and times:
        sentences.append(f"time: from {len(times)} stored replies, {inputs.concurrency} at a time")
    size = float(assumptions.reply_bytes)
    if answered:
        size = sum(len(msgspec.json.encode(one)) for one in answered) / len(answered)
    return Estimate(
        samples=samples,
        most_requests=max_requests,
        requests=expected,
        stored=counts.stored,
        equal=counts.equal,
        unsupported=counts.unsupported,
        asked_of_others=dict(counts.other_roles),
        prompt_tokens=tokens.prompt,
        completion_tokens=tokens.completion,
        seconds=seconds if max_requests else 0.0,
        store_bytes=expected * (size + _ROW_BYTES),
        said=tuple(sentences),
    )


def _estimate_tokens(
    counts: DryRunCounts,
    answered: Sequence[Generated | Ranked | Drawn | Compared],
    assumptions: Assumptions,
    pass_rate: float,
    image_tokens_text: str,
) -> _TokenEstimate:
    """Of the expected requests: as stored replies had, or by characters and pictures."""
    weights = [
        (pass_rate**before, size) for before, sizes in counts.pending.items() for size in sizes
    ]
    expected = sum(weight for weight, _ in weights)
    used = [one.usage for one in answered if one.usage is not None]
    if len(used) >= MIN_REPLIES:
        prompt = sum(one.prompt_tokens for one in used) / len(used)
        reply = sum(one.completion_tokens for one in used) / len(used)
        return _TokenEstimate(
            expected * prompt, expected * reply, f"from {len(used)} stored replies"
        )
    prompt = sum(
        weight * (size.characters / CHARACTERS_PER_TOKEN + size.image_tokens)
        for weight, size in weights
    )
    basis = (
        f"{CHARACTERS_PER_TOKEN} characters a token; {image_tokens_text}"
        f"{assumptions.reply_tokens} tokens a reply (assumed)"
    )
    return _TokenEstimate(prompt, expected * assumptions.reply_tokens, basis)
