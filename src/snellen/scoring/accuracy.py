"""Per-sample scores to accuracy, with groups, bounds, and what guessing would score.

Denominator (MMBench Sec. 4.1, MMT-Bench Sec. 4.1): replies that are unparsed, refused, truncated,
empty or match no option count as wrong; failed and missing samples and samples without gold are
left out, and the bounds show what they could have changed. Samples of one image or unit are
correlated: they form a cluster, for cluster-robust intervals.

Uniform guessing and the most frequent label: MMT-Bench (Ying et al., 2024), Table 2. There the
label is chosen on the questions it is scored on, which overestimates guessing on few questions;
here it is chosen on one half of them and scored on the other.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from statistics import fmean
from typing import NamedTuple, Protocol

from msgspec import structs

from snellen.core.output import OUTCOMES, RETRYABLE, Failure, Outcome
from snellen.core.record import Record, Unscored
from snellen.core.sample import Kind
from snellen.core.summary import Bounds, FailurePolicy, Metric, Summary
from snellen.stats.intervals import score_interval

_SECONDARY = ("vanilla", "drop", "by_rules")
"""Metrics displayed next to the headline if they exist."""
_NO_GOLD = ("has no gold answer and is not scored", "have no gold answer and are not scored")
_UNGRADED = ("was not graded by any judge and is left out", "were not graded by any judge and are left out")
_VERDICT = (
    "a judged reply that states a verdict of its own or asks for one; what a judge only repeats from it does not count"
)
_MAX_REASONS = 3
"""Most reasons for unsupported samples that a notice lists."""
_YES_NO = frozenset({"Yes", "No"})


class Clusterable(Protocol):
    """The part of a record that decides its cluster."""

    @property
    def unit(self) -> str: ...

    @property
    def media(self) -> Sequence[str]: ...


def cluster_samples(samples: Sequence[Clusterable], links: Sequence[str] = ()) -> list[str]:
    """A cluster id for each sample: equal for samples of one unit, with the same media, or with the
    same name in `links` (optional, one per sample). Empty for a sample that shares nothing.

    Links are transitive: connected samples form one cluster. The order of media does not matter.
    """
    if not links and not [sample for sample in samples if sample.unit or sample.media]:
        return [""] * len(samples)
    # Union-find: each sample points to another of its cluster, roots point to themselves.
    parents = list(range(len(samples)))
    first: dict[Hashable, int] = {}
    for index, sample in enumerate(samples):
        link = ("link", links[index]) if links and links[index] else None
        for key in (sample.unit, frozenset(sample.media), link):
            other = first.setdefault(key, index) if key else index
            if other != index:
                # The smaller index becomes the root, so that ids follow the order of the samples.
                low, high = sorted((_root(parents, index), _root(parents, other)))
                parents[high] = low
    # Each points to a smaller one, or to itself: in this order their roots are known.
    for index, parent in enumerate(parents):
        parents[index] = parents[parent]
    sizes = Counter(parents)
    return [f"cluster {root + 1}" if sizes[root] > 1 else "" for root in parents]


def _root(parents: list[int], index: int) -> int:
    """The representative of a sample's cluster (union-find with path halving)."""
    while parents[index] != index:
        parents[index] = index = parents[parents[index]]
    return index


def summarise(
    records: Sequence[Record],
    *,
    headline: str = "accuracy",
    failures: FailurePolicy = "exclude",
    secondary: tuple[str, ...] = (),
    cluster_ids: Sequence[str] | None = None,
) -> Summary:
    """Summarise records scored 0..1; metrics in percent, with cluster-robust intervals. `secondary`
    names per-record values displayed next to the headline in tables. `cluster_ids` are those of
    `cluster_samples(records)`, if already computed. Passes are not looked at."""
    cluster_ids = cluster_samples(records) if cluster_ids is None else cluster_ids
    counts_failures = failures in ("count-wrong", "as-reply")
    scores = [counted_score(record, failures) if counts_failures else record.score for record in records]
    counted = _Counted([], [], [])
    for record, score, cluster in zip(records, scores, cluster_ids, strict=True):
        if score is not None:
            counted.records.append(record)
            counted.scores.append(score)
            counted.clusters.append(cluster)
    retryable = [record for record in records if record.unscored in RETRYABLE]
    is_withheld = failures == "withhold" and bool(retryable)
    overall = mean_metric(headline, counted.scores, counted.clusters)
    if is_withheld:
        overall = Metric(headline, None, len(counted.records), note="withheld: samples failed or are missing")
    has_values = not is_withheld and any(record.values for record in records)
    further = {**_values(records, cluster_ids), **_differences(counted)} if has_values else {}
    metrics = {headline: overall, **further, **guess_metrics(counted.records)}
    return Summary(
        headline=overall,
        metrics=metrics,
        groups={} if is_withheld else _groups(counted, headline),
        outcomes=count_outcomes(records),
        n=len(counted.records),
        total=len(records),
        no_gold=sum([record.unscored == "no_gold" for record in records]),
        bounds=_bounds(records) if retryable or _partly_graded(records) else None,
        notices=(*score_notices(records, failures), *_cluster_notices(counted.clusters)),
        beside=tuple(name for name in (*secondary, *_SECONDARY) if name in metrics),
    )


def _cluster_notices(clusters: Sequence[str]) -> Iterable[str]:
    """A sentence if all samples form one cluster, whose spread cannot be seen."""
    if len(clusters) > 1 and clusters[0] and len(set(clusters)) == 1:
        yield (
            f"all {len(clusters)} samples share an image or a unit and form 1 cluster: the interval "
            "is that of a single question"
        )


def mean_metric(name: str, scores: Sequence[float], cluster_ids: Sequence[str] = ()) -> Metric:
    """Mean of scores in 0..1 as percent, with its interval. `cluster_ids`, as from
    `cluster_samples`, names the cluster of each score; an empty id is a cluster of its own, and so
    is every sample if there are no ids."""
    if not scores:
        return Metric(name, None, 0, note="no sample could be scored")
    interval = score_interval(scores, cluster_ids)
    in_percent = interval and interval.scale()
    return Metric(name, 100 * sum(scores) / len(scores), len(scores), in_percent)


def count_outcomes(records: Iterable[Record]) -> dict[Outcome, int]:
    """Number of records of every outcome, zeros included."""
    counts = Counter([record.outcome for record in records])
    return {outcome: counts[outcome] for outcome in OUTCOMES}


def score_notices(records: Sequence[Record], failures: FailurePolicy = "exclude") -> Iterable[str]:
    """Sentences that a reader needs before the number: samples left out, failed, not rotated,
    ungraded or unsupported."""
    counts = Counter([record.unscored for record in records])
    passes = counts["missing"] > 0 and any(len(record.passes) > 1 for record in records)
    no_prediction = "no prediction for some pass" if passes else "no prediction"
    failed = "counted wrong" if counts["failed"] and counts_wrong("failed", failures) else "left out"
    missing = "counted wrong" if counts["missing"] and counts_wrong("missing", failures) else "left out"
    fixed = "could not be rotated and were asked once"
    lacking = [record.lacking for record in records if record.lacking]
    rows = sum(lacking)
    rotations = f"{rows} rotation{'' if rows == 1 else 's'} in the data"
    others = "counted by the others: the score may be higher than of the whole file"
    reasons = "; ".join(_reasons(records)) if counts["unsupported"] else ""
    why = f": {reasons}" if reasons else ""
    sentences = (
        (counts["failed"], f"failed and is {failed}", f"failed and are {failed}"),
        (counts["missing"], f"has {no_prediction} and is {missing}", f"have {no_prediction} and are {missing}"),
        (sum([record.asked_once for record in records]), fixed, fixed),
        (len(lacking), f"lacks {rotations} and is {others}", f"lack {rotations} and are {others}"),
        (counts["no_gold"], *_NO_GOLD),
        (counts["ungraded"], *_UNGRADED),
        (sum([record.holds_verdict for record in records]), f"has {_VERDICT}", f"have {_VERDICT}"),
        (
            counts["unsupported"],
            f"needs what the model cannot do and was not asked{why}",
            f"need what the model cannot do and were not asked{why}",
        ),
    )
    total = f"{len(records)} sample{'' if len(records) == 1 else 's'}"
    for count, one, several in sentences:
        if count:
            yield f"{count} of {total} {one if count == 1 else several}"


def _reasons(records: Iterable[Record]) -> list[str]:
    """Reasons why samples were unsupported, each once, at most `_MAX_REASONS`."""
    outputs = (record.passes[0].output for record in records if record.unscored == "unsupported" and record.passes)
    messages = (output.message for output in outputs if isinstance(output, Failure))
    return list(dict.fromkeys(messages))[:_MAX_REASONS]


def counts_wrong(unscored: Unscored | None, failures: str) -> bool:
    """Whether a policy counts a sample without a reply as wrong: `count-wrong` one that failed or
    is missing, `as-reply` one that failed, as its error message would be."""
    if failures == "as-reply":
        return unscored == "failed"
    return failures == "count-wrong" and unscored in RETRYABLE


def counted_score(record: Record, failures: FailurePolicy) -> float | None:
    """The score a record counts with under a failure policy, or None if it is left out."""
    if counts_wrong(record.unscored, failures):
        # Without gold the sample would have no score even if it had been answered.
        return 0.0 if record.gold else None
    return record.score


class _Counted(NamedTuple):
    """The records that count, with their scores and cluster ids."""

    records: list[Record]
    scores: list[float]
    clusters: list[str]


def _groups(counted: _Counted, name: str) -> dict[str, dict[str, Metric]]:
    buckets: dict[str, dict[str, _Bucket]] = defaultdict(lambda: defaultdict(_Bucket))
    for record, score, cluster in zip(*counted, strict=True):
        for column, label in record.groups.items():
            bucket = buckets[column][label]
            bucket.scores.append(score)
            bucket.cluster_ids.append(cluster)
    return {
        column: {label: labels[label].metric(name) for label in sorted(labels)} for column, labels in buckets.items()
    }


def _values(records: Sequence[Record], cluster_ids: Sequence[str]) -> dict[str, Metric]:
    """Means of the further per-sample values, such as `vanilla` next to a circular score."""
    buckets: dict[str, _Bucket] = defaultdict(_Bucket)
    for record, cluster in zip(records, cluster_ids, strict=True):
        for name, value in record.values.items():
            buckets[name].add(value, cluster)
    return {name: cell.metric(name) for name, cell in buckets.items()}


@dataclass(slots=True)
class _Bucket:
    """Scores that are averaged together, each with its cluster id."""

    scores: list[float] = field(default_factory=list)
    cluster_ids: list[str] = field(default_factory=list)

    def add(self, score: float, cluster: str) -> None:
        self.scores.append(score)
        self.cluster_ids.append(cluster)

    def metric(self, name: str) -> Metric:
        return mean_metric(name, self.scores, self.cluster_ids)


def _differences(counted: _Counted) -> dict[str, Metric]:
    """Differences over the same samples: VanillaEval minus CircularEval (MMBench Table 2), and what
    the LLM extractor added to the rules on the first pass (Table 1). Neither can be negative: a
    circular score is at most that of its first pass, and the extractor does not change what the
    rules parsed."""
    buckets = {"drop": _Bucket(), "extractor_gain": _Bucket()}
    for record, cluster in zip(counted.records, counted.clusters, strict=True):
        values, score = record.values, record.score
        if score is None:
            continue
        if "vanilla" in values:
            buckets["drop"].add(values["vanilla"] - score, cluster)
        if "vanilla_by_rules" in values:
            gain = values.get("vanilla", score) - values["vanilla_by_rules"]
            buckets["extractor_gain"].add(gain, cluster)
    return {name: structs.replace(cell.metric(name), unit="points") for name, cell in buckets.items() if cell.scores}


def _partly_graded(records: Sequence[Record]) -> bool:
    """Whether judges graded some replies and could not grade others."""
    kinds = {record.unscored for record in records}
    return "ungraded" in kinds and any(record.score is not None for record in records)


def _bounds(records: Sequence[Record]) -> Bounds:
    """Percent if every failed, missing or ungraded sample with gold were wrong, and if it were
    right."""
    with_gold = [
        record
        for record in records
        if record.score is not None or ((record.is_retryable or record.unscored == "ungraded") and record.gold)
    ]
    unknown = sum(record.score is None for record in with_gold)
    right = sum(record.score or 0.0 for record in with_gold)
    total = max(1, len(with_gold))
    return Bounds(100 * right / total, 100 * (right + unknown) / total)


CHANCE, SAME_TEXT, SAME_LETTER, FREQUENT = ("chance", "chance_same_text", "chance_same_letter", "frequent")
CENTRE_PLACE, WHOLE_PICTURE, MIDDLE_SPAN, WHOLE_VIDEO = ("centre_place", "whole_picture", "middle_span", "whole_video")
EMPTY_PAGE, FREQUENT_WORDS, FREQUENT_FIELDS = ("empty_page", "frequent_words", "frequent_fields")
_PLACE_GUESSES = (CENTRE_PLACE, WHOLE_PICTURE, MIDDLE_SPAN, WHOLE_VIDEO)
_DOCUMENT_GUESSES = (EMPTY_PAGE, FREQUENT_WORDS, FREQUENT_FIELDS)
GUESSES = (CHANCE, SAME_TEXT, SAME_LETTER, FREQUENT, *_PLACE_GUESSES, *_DOCUMENT_GUESSES)
"""Names of the metrics that describe guessing and not the model."""
SPLITS = 20
"""Random halves over which the most frequent label is averaged."""


def guess_metrics(records: Sequence[Record]) -> dict[str, Metric]:
    """Expected scores of guessing, in percent, over all `records`; an open question is never
    guessed right, nor is a place (whose baselines are in `scoring.places.baselines`).

    `chance` guesses uniformly, anew in each pass. If questions are asked in rotations,
    `chance_same_text` keeps the text it drew and `chance_same_letter` the letter, through all
    passes; otherwise `frequent` is the score of always giving the most frequent label of each kind
    of question. Empty without gold answers; no chance level if options are unknown.
    """
    closed = [record for record in records if record.kind in ("choice", "yes_no") and record.gold]
    if not closed:
        return {}
    n = len(records)
    circular = bool([record for record in records if "vanilla" in record.values])
    expected_right: dict[str, float] = {}
    if not [record for record in closed if record.kind == "choice" and not record.options]:
        expected_right[CHANCE] = sum(
            [
                # As `chance_of`, without a call for what most records are.
                1 / len(record.options)
                if not circular and record.kind == "choice" and len(record.gold) == 1
                else chance_of(record)
                for record in closed
            ]
        )
        if circular:
            expected_right[SAME_TEXT] = sum(map(accepted_fraction, closed))
            expected_right[SAME_LETTER] = sum(map(_chance_of_one_letter, closed))
    if not circular:
        expected_right[FREQUENT] = frequent_right(closed)
    return {name: Metric(name, 100 * right / n, n) for name, right in expected_right.items()}


def accepted_fraction(record: Record) -> float:
    """The fraction of a closed question's options that are accepted: what a guess in one pass
    scores, 0..1."""
    labels = _YES_NO if record.kind == "yes_no" else record.options
    if len(record.gold) == 1:
        return 1 / len(labels)
    return max(1, len(set(labels).intersection(record.gold))) / len(labels)


def chance_of(record: Record) -> float:
    """What guessing uniformly, anew in each pass, scores on a closed question, 0..1."""
    fraction = accepted_fraction(record)
    return fraction ** _passes(record) if "vanilla" in record.values else fraction


def _chance_of_one_letter(record: Record) -> float:
    """What always giving one random letter scores, 0..1: a letter has another text in each pass, so
    it is right in all of them only if all options are accepted."""
    fraction = accepted_fraction(record)
    return fraction if _passes(record) == 1 else float(fraction == 1)


def _passes(record: Record) -> int:
    """Passes that must all be right: the rotations of the options under CircularEval."""
    rotated = "vanilla" in record.values and record.kind == "choice" and not record.asked_once
    return max(1, len(record.options) - record.lacking) if rotated else 1


def frequent_right(closed: Sequence[Record]) -> float:
    """Mean number of these questions answered right by always giving the label that most of the
    other half accepts, for each kind of question, over `SPLITS` random halves used both ways.
    Equally frequent labels share the answer. Questions about one image stay in the same half: if
    each image has as many questions with yes as with no, so has each half."""
    # A question with several accepted answers counts once for each of them.
    accepted = [gold if len(gold := record.gold) == 1 else tuple(sorted(set(gold))) for record in closed]
    kinds = [record.kind for record in closed]
    names = [cluster or record.id for cluster, record in zip(cluster_samples(closed), closed, strict=True)]
    if len(set(names)) < len(names):
        joined: dict[tuple[Kind, str], list[str]] = {}
        for kind, name, labels in zip(kinds, names, accepted, strict=True):
            joined.setdefault((kind, name), []).extend(labels)
        kinds, accepted = [kind for kind, _ in joined], [tuple(sorted(labels)) for labels in joined.values()]
    counts = Counter(zip(kinds, accepted, strict=True))
    return sum(
        _cross_fit(kind, sorted((labels, count) for (of_kind, labels), count in counts.items() if of_kind == kind))
        for kind in dict.fromkeys(kinds)
    )


def _cross_fit(kind: str, groups: Sequence[tuple[tuple[str, ...], int]]) -> float:
    """Expected number of right answers among the questions of one kind; of its clusters, the labels
    that their questions accept, each with the number of such clusters."""
    # Clusters are bits of an integer, those with the same labels beside each other. For each label,
    # the clusters that accept it once, twice, ...
    masks: dict[tuple[str, int], int] = defaultdict(int)
    start = 0
    for labels, number in groups:
        for accepted in Counter(labels).items():
            masks[accepted] |= ((1 << number) - 1) << start
        start += number
    totals = _count_labels(masks, (1 << start) - 1)
    random = Random(f"frequent label:{kind}:{groups}")
    right = 0.0
    for _ in range(SPLITS):
        half = _count_labels(masks, _random_half(start, random))
        other = {label: total - half[label] for label, total in totals.items()}
        right += _right_by_most_frequent(half, other) + _right_by_most_frequent(other, half)
    return right / SPLITS


def _count_labels(masks: Mapping[tuple[str, int], int], clusters: int) -> dict[str, int]:
    """How often the questions of these clusters accept each label."""
    counts: dict[str, int] = defaultdict(int)
    for (label, times), mask in masks.items():
        counts[label] += times * (mask & clusters).bit_count()
    return counts


def _random_half(size: int, random: Random) -> int:
    """An integer of `size` random bits, half of them ones (rounded down)."""
    half = random.getrandbits(size)
    excess = half.bit_count() - size // 2
    while excess:
        bit = 1 << random.randrange(size)
        if bool(half & bit) == (excess > 0):
            half ^= bit
            excess -= 1 if excess > 0 else -1
    return half


def _right_by_most_frequent(chosen_on: Mapping[str, int], scored_on: Mapping[str, int]) -> float:
    """Right answers on one half by the most frequent label of the other; the mean over equally
    frequent ones."""
    top = max(chosen_on.values())
    return fmean(scored_on[label] for label, count in chosen_on.items() if count == top)
