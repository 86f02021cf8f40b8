"""Few-shot examples before each question (`shots=k`), never a question that is asked itself.

They are the same for all questions of a kind, drawn with `shots_seed` from the pool that the
benchmark declares (`Benchmark.few_shot_pool`), from what `shots_from=` names (a value of the option
`split`, or a data file or set), else (`shots_from=aside`) from the data that are asked. A question
is excluded, neither asked nor scored, if it is an example, asks the same about the same images, or
shares a unit with either.
"""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from threading import Lock
from typing import NamedTuple

import msgspec

from snellen.core.benchmark import Benchmark, FewShotSelector, Variant
from snellen.core.errors import UsageError
from snellen.core.run import FewShotInfo
from snellen.core.sample import Kind, Row, Sample, sampling_key

EXCLUDED = "aside"
"""The value of `shots_from` by which examples come from the data that are asked."""
HELD_OUT = "held-out"
"""The value that takes the source which the benchmark declares, or else sets aside."""
SHOTS, _SEED, SHOTS_FROM = "shots", "shots_seed", "shots_from"

OpenVariant = Callable[[Variant], Benchmark]
"""The benchmark of a variant; a `BenchmarkFactory`."""


class FewShotSelection(NamedTuple):
    """The examples by kind, and the ids of the data's questions that are not asked."""

    by_kind: Mapping[Kind, Sequence[Sample]]
    excluded: frozenset[str]


def select_few_shot(open_variant: OpenVariant, variant: Variant) -> Benchmark:
    """The benchmark with the examples that the variant's options ask for before each question.

    Raises UsageError for a source that is neither a split nor there; when the data are first read,
    UsageError if it has too few questions with an answer.
    """
    options = dict(variant.options)
    source_name = options.pop(SHOTS_FROM, HELD_OUT)
    count, seed = options.get(SHOTS, "0"), options.get(_SEED, "0")
    if count == "0":
        if source_name != HELD_OUT:
            raise UsageError(f"shots_from={source_name} says where examples come from: add shots=1 or more")
        return open_variant(replace(variant, options=options))
    # The benchmark shows the examples, and they may be drawn from its own data: `select` runs when
    # the first question is prepared, long after `benchmark` and `pool` have their values.
    selection = _lazily(lambda: _select(int(count), seed, pool, benchmark, source_name))
    benchmark = open_variant(replace(variant, options=options, shots=_shots(selection)))
    if source_name == HELD_OUT:
        source_name = (benchmark.few_shot_pool if variant.data is None else "") or EXCLUDED
    pool = benchmark
    if source_name != EXCLUDED:
        plain = {name: value for name, value in options.items() if name not in (SHOTS, _SEED)}
        pool = _open_pool(source_name, benchmark, open_variant, replace(variant, options=plain))

    def samples(rows: Iterable[Row]) -> Iterator[Sample]:
        excluded = selection().excluded
        return (sample for sample in benchmark.samples(rows) if sample.id not in excluded)

    return replace(
        benchmark,
        samples=samples,
        few_shot_info=lambda: _few_shot_info(selection()),
        parameters={**benchmark.parameters, SHOTS_FROM: source_name},
    )


def _open_pool(source_name: str, benchmark: Benchmark, open_variant: OpenVariant, variant: Variant) -> Benchmark:
    """The benchmark over the split, file or data set that examples are drawn from."""
    splits = benchmark.options.get("split", ())
    if source_name in splits:
        split = {**variant.options, "split": source_name}
        return open_variant(replace(variant, options=split, data=None))
    if "://" not in source_name and not Path(source_name).expanduser().exists():
        allowed = f"one of {', '.join(splits)}, " if splits else ""
        raise UsageError(
            f"{benchmark.name}:shots_from={source_name}: expected {allowed}a data file or data "
            f"set that there is, or {EXCLUDED}"
        )
    return open_variant(replace(variant, data=source_name))


def _lazily(select: Callable[[], FewShotSelection]) -> Callable[[], FewShotSelection]:
    """Select when first needed, once: questions are prepared in several threads."""
    lock, cached = Lock(), functools.cache(select)

    def selection() -> FewShotSelection:
        with lock:
            return cached()

    return selection


def _shots(selection: Callable[[], FewShotSelection]) -> FewShotSelector:
    def shots(kind: Kind) -> Sequence[Sample]:
        return selection().by_kind.get(kind, ())

    return shots


def _select(count: int, seed: str, pool: Benchmark, benchmark: Benchmark, source_name: str) -> FewShotSelection:
    """Draw `count` examples of each kind of question in the data. Raises UsageError if the pool
    has too few, or if no question of a kind would remain to be asked."""
    data = list(benchmark.samples(benchmark.open()))
    candidates = data if pool is benchmark else list(pool.samples(pool.open()))
    chosen = _first_of_each_kind(count, seed, candidates)
    kinds = {sample.kind for sample in data}
    for kind in sorted(kinds):
        examples = chosen.get(kind, ())
        if len(examples) < count:
            where = benchmark.name if pool is benchmark else source_name
            few = f"only {len(examples)} {kind} questions" if examples else f"no {kind} question"
            raise UsageError(
                f"shots={count}: {where} has {few} with an answer to show; "
                f"{'ask for fewer, or ' if examples else ''}name another source with shots_from="
            )
    excluded = _excluded_ids([sample for samples in chosen.values() for sample in samples], data, pool is benchmark)
    kinds_remaining = {sample.kind for sample in data if sample.id not in excluded}
    for kind in sorted(kinds - kinds_remaining):
        raise UsageError(
            f"shots={count}: no {kind} question of {benchmark.name} would be left to ask; ask for "
            "fewer, or name another source with shots_from="
        )
    return FewShotSelection({kind: chosen[kind] for kind in sorted(kinds)}, excluded)


def _first_of_each_kind(count: int, seed: str, pool: Iterable[Sample]) -> dict[Kind, list[Sample]]:
    """The first `count` of each kind in a seeded order, no two of which ask the same."""
    chosen: dict[Kind, list[Sample]] = {}
    seen = set()
    for sample in sorted((sample for sample in pool if sample.gold), key=lambda one: sampling_key(seed, one.id)):
        examples = chosen.setdefault(sample.kind, [])
        if len(examples) < count and (asks := _question_key(sample)) not in seen:
            seen.add(asks)
            examples.append(sample)
    return chosen


def _excluded_ids(examples: Sequence[Sample], data: Sequence[Sample], of_data: bool) -> frozenset[str]:
    """The ids of the data's questions that examples rule out: the same questions, and their
    units."""
    asks = {_question_key(sample) for sample in examples}
    units = {sample.unit for sample in examples if of_data and sample.unit}
    units |= {sample.unit for sample in data if sample.unit and _question_key(sample) in asks}
    return frozenset(sample.id for sample in data if sample.unit in units or _question_key(sample) in asks)


def _question_key(sample: Sample) -> tuple[object, ...]:
    """What identifies a question: its words and images; without images its options, too."""
    media = tuple(ref.digest for ref in sample.media)
    return (sample.question, media, () if media else tuple(sorted(sample.options.values())))


def _few_shot_info(selection: FewShotSelection) -> FewShotInfo:
    examples = [sample for samples in selection.by_kind.values() for sample in samples]
    digest_fields = [
        (
            sample.id,
            sample.kind,
            sample.question,
            sample.hint,
            dict(sample.options),
            sample.gold,
            _question_key(sample)[1],
        )
        for sample in examples
    ]
    digest = hashlib.sha256(msgspec.json.encode(digest_fields)).hexdigest()
    return FewShotInfo(tuple(sample.id for sample in examples), digest, len(selection.excluded))
