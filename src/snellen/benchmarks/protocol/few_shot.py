"""Examples shown before each question (`shots=k`): never a question that is asked itself.

They are the same for all questions of a kind, drawn by `shots_seed`: from the source that the
benchmark declares (`Benchmark.held_out`), from what `shots_from=` names (a value of the option
`split`, or a data file or set), else (`shots_from=aside`) from the data that are asked. Whatever of
the data is an example, asks the same about the same pictures, or is of one unit with either is set
aside: not asked, not scored.
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

from snellen.core.benchmark import Benchmark, BenchmarkFactory, Shots, Variant
from snellen.core.errors import UsageError
from snellen.core.run import Examples
from snellen.core.sample import Kind, Row, Sample, lot

ASIDE = "aside"
"""The value of `shots_from` by which examples come from the data that are asked."""
DECLARED = "held-out"
"""The value that takes the source which the benchmark declares, or else sets aside."""
_SHOTS, _SEED, _FROM = "shots", "shots_seed", "shots_from"

Open = Callable[[Variant, str | None], Benchmark]
"""Opens the benchmark as a variant, over its own data or over those of that file or split."""


class Drawn(NamedTuple):
    """The examples by kind, and the ids of the data's questions that are not asked."""

    by_kind: Mapping[Kind, Sequence[Sample]]
    aside: frozenset[str]


def with_examples(open: Open, variant: Variant) -> Benchmark:
    """The benchmark, with the examples that the variant's options ask for before each question.

    Raises UsageError for a source that is neither a split nor there; when the data are first read,
    UsageError where it has too few questions with an answer.
    """
    options = dict(variant.options)
    told = options.pop(_FROM, DECLARED)
    count, seed = options.get(_SHOTS, "0"), options.get(_SEED, "0")
    if count == "0":
        if told != DECLARED:
            raise UsageError(
                f"shots_from={told} says where examples come from: add shots=1 or more"
            )
        return open(replace(variant, options=options), None)
    shown = {_SHOTS, _SEED}
    without = {name: value for name, value in options.items() if name not in shown}
    plain = open(replace(variant, options=without), None)
    if told == DECLARED:
        told = (plain.held_out if variant.data is None else "") or ASIDE
    source = plain
    if told != ASIDE:
        source = _source(told, plain, open, replace(variant, options=without))
    drawn = _once(lambda: _drawn(int(count), seed, source, plain, told))
    made = open(replace(variant, options=options, shots=_shots(drawn)), None)

    def samples(rows: Iterable[Row]) -> Iterator[Sample]:
        aside = drawn().aside
        return (sample for sample in made.samples(rows) if sample.id not in aside)

    return replace(
        made,
        samples=samples,
        examples=lambda: _recorded(drawn()),
        parameters={**made.parameters, _FROM: told},
    )


def made_with_examples(factory: BenchmarkFactory, variant: Variant) -> Benchmark:
    """`with_examples` for a benchmark that no registry knows."""

    def open(variant: Variant, data: str | None) -> Benchmark:
        return factory(variant if data is None else replace(variant, data=data))

    return with_examples(open, variant)


def _source(told: str, plain: Benchmark, open: Open, variant: Variant) -> Benchmark:
    splits = plain.options.get("split", ())
    if told in splits:
        split = {**variant.options, "split": told}
        return open(replace(variant, options=split, data=None), None)
    if "://" not in told and not Path(told).expanduser().exists():
        known = f"one of {', '.join(splits)}, " if splits else ""
        raise UsageError(
            f"{plain.name}:shots_from={told}: expected {known}a data file or data set that there "
            f"is, or {ASIDE}"
        )
    return open(variant, told)


def _once(draw: Callable[[], Drawn]) -> Callable[[], Drawn]:
    """Draws when first asked, once: questions are made ready in several threads."""
    lock, cached = Lock(), functools.cache(draw)

    def drawn() -> Drawn:
        with lock:
            return cached()

    return drawn


def _shots(drawn: Callable[[], Drawn]) -> Shots:
    def shots(kind: Kind) -> Sequence[Sample]:
        return drawn().by_kind.get(kind, ())

    return shots


def _drawn(count: int, seed: str, source: Benchmark, asked: Benchmark, told: str) -> Drawn:
    data = list(asked.samples(asked.open()))
    pool = data if source is asked else list(source.samples(source.open()))
    chosen = _chosen(count, seed, pool)
    kinds = {sample.kind for sample in data}
    for kind in sorted(kinds):
        found = chosen.get(kind, ())
        if len(found) < count:
            where = asked.name if source is asked else told
            few = f"only {len(found)} {kind} questions" if found else f"no {kind} question"
            raise UsageError(
                f"shots={count}: {where} has {few} with an answer to show; "
                f"{'ask for fewer, or ' if found else ''}name another source with shots_from="
            )
    aside = _aside([one for found in chosen.values() for one in found], data, source is asked)
    left = {sample.kind for sample in data if sample.id not in aside}
    for kind in sorted(kinds - left):
        raise UsageError(
            f"shots={count}: no {kind} question of {asked.name} would be left to ask; ask for "
            "fewer, or name another source with shots_from="
        )
    return Drawn({kind: chosen[kind] for kind in sorted(kinds)}, aside)


def _chosen(count: int, seed: str, pool: Iterable[Sample]) -> dict[Kind, list[Sample]]:
    """The first `count` of each kind in an order by lot, no two of which ask the same."""
    chosen: dict[Kind, list[Sample]] = {}
    seen = set()
    for sample in sorted((one for one in pool if one.gold), key=lambda one: lot(seed, one.id)):
        found = chosen.setdefault(sample.kind, [])
        if len(found) < count and (asks := _asks(sample)) not in seen:
            seen.add(asks)
            found.append(sample)
    return chosen


def _aside(examples: Sequence[Sample], data: Sequence[Sample], of_data: bool) -> frozenset[str]:
    asks = {_asks(one) for one in examples}
    units = {one.unit for one in examples if of_data and one.unit}
    units |= {sample.unit for sample in data if sample.unit and _asks(sample) in asks}
    return frozenset(sample.id for sample in data if sample.unit in units or _asks(sample) in asks)


def _asks(sample: Sample) -> tuple[object, ...]:
    """What tells two questions apart: the words and the pictures, without pictures the options."""
    media = tuple(ref.digest for ref in sample.media)
    return (sample.question, media, () if media else tuple(sorted(sample.options.values())))


def _recorded(drawn: Drawn) -> Examples:
    shown = [one for found in drawn.by_kind.values() for one in found]
    told = [
        (one.id, one.kind, one.question, one.hint, dict(one.options), one.gold, _asks(one)[1])
        for one in shown
    ]
    digest = hashlib.sha256(msgspec.json.encode(told)).hexdigest()
    return Examples(tuple(one.id for one in shown), digest, len(drawn.aside))
