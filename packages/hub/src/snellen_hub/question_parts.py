"""The parts of a hidden benchmark: part 0 is public, the others are private until their reveal.

Every number that a hub shows is of the questions whose part was revealed; a private part is scored
once, at its reveal. The draw is stored with the questions (`QuestionRows.part`) and never moves.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec
from msgspec import Struct

from snellen.core.errors import UsageError
from snellen.core.sample import MediaRef, Sample
from snellen.engine.anytime.sample_order import SampleLinks, stratified_order
from snellen.scoring.accuracy import cluster_samples
from snellen_hub.database.tables import HostedBenchmark

PUBLIC = 0


class PartDraw(Struct, frozen=True, omit_defaults=True):
    """How the questions of a benchmark were divided."""

    seed: int
    public_share: float
    sizes: tuple[int, ...]
    """Questions of each part, the public one first."""
    removed: dict[str, int] = {}
    """Parts of the questions that earlier data held, by id: what comes back keeps its part."""

    def count_public(self, revealed: int) -> int:
        """Questions that scores are of once so many private parts were revealed."""
        return sum(self.sizes[: revealed + 1])


def draw_parts(
    samples: Sequence[Sample], seed: int, public_share: float, private: Sequence[int], known: Mapping[str, int]
) -> dict[str, int]:
    """The part of each question, by id. Questions that share a picture or a unit go together, and
    each part holds the categories nearly in proportion. Those that are `known` from an earlier draw
    keep their part, and take others of their unit with them. `private` are the numbers of the
    parts, in equal shares, that new questions are drawn into.

    Raises UsageError if a part would be empty.
    """
    linked = _unit_samples(samples)
    joined = dict[str, int]()
    for sample in linked:
        if sample.id in known:
            joined[sample.unit] = min(known[sample.id], joined.get(sample.unit, known[sample.id]))
    parts = {each.id: known.get(each.id, joined[each.unit]) for each in linked if each.unit in joined}
    units = stratified_order([each for each in linked if each.unit not in joined], seed)
    count = sum(len(unit.samples) for unit in units)
    each_private = count * (1 - public_share) / len(private)
    ends = [count * public_share + each_private * k for k in range(len(private))]
    drawn = 0
    for unit in units:
        part = (PUBLIC, *private)[sum(drawn + len(unit.samples) / 2 > end for end in ends)]
        parts |= dict.fromkeys([sample.id for sample in unit.samples], part)
        drawn += len(unit.samples)
    empty = set(() if known else (PUBLIC, *private)) - set(parts.values())
    if empty:
        raise UsageError(
            f"{len(linked):,} questions about {len(units):,} pictures cannot be divided into a "
            f"public part of {100 * public_share:g} % and {len(private)} private; give more "
            "questions, another share of public ones, or fewer dates"
        )
    return parts


def describe_parts(benchmark: HostedBenchmark) -> dict[str, Any]:
    """What readers are told of the parts: questions that are `public` by now, were `revealed` among
    these, and are still `private`, and the times of the next `reveals`. Empty if none is hidden."""
    if not benchmark.draw:
        return {}
    draw = read_draw(benchmark)
    public = draw.count_public(benchmark.revealed)
    return {
        "public": public,
        "revealed": public - draw.count_public(PUBLIC),
        "private": sum(draw.sizes) - public,
        "reveals": list(benchmark.reveals),
    }


def read_draw(benchmark: HostedBenchmark) -> PartDraw:
    """The draw of a hidden split. Raises UsageError if it is none, or was not divided."""
    if not benchmark.is_hidden:
        raise UsageError(f"the answers of {benchmark.name} are not hidden: no question is private")
    if not benchmark.draw:
        raise UsageError(
            f"the questions of {benchmark.name} are not divided into a public and a private part; "
            "give its data once more: snellen hub benchmark --replace"
        )
    return msgspec.convert(benchmark.draw, PartDraw)


def _unit_samples(samples: Sequence[Sample]) -> list[Sample]:
    """The samples without text and media, those that share any picture in one unit."""
    links, names, places = list[SampleLinks](), list[str](), list[int]()
    for index, sample in enumerate(samples):
        places.append(len(links))
        for digest in ("", *_digests(sample)):
            links.append(SampleLinks(f"question {index}", (digest,) if digest else ()))
            names.append("" if digest else sample.unit)
    clusters = cluster_samples(links, names)
    return [
        Sample(each.id, each.kind, "", groups=each.groups, unit=clusters[place] or f"one {place}")
        for each, place in zip(samples, places, strict=True)
    ]


def _digests(sample: Sample) -> Iterable[str]:
    refs: Iterable[MediaRef] = (*sample.media, *sample.option_images.values())
    return dict.fromkeys(ref.digest for ref in refs)
