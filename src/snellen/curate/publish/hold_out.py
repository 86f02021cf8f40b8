"""Choose the questions whose answers are kept back: a share of each ability, by a seed.

Questions of one unit, and questions about one picture, stay together: otherwise the public part
would show pictures of the part that is kept back.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import floor

from snellen.core.sample import sampling_key


@dataclass(frozen=True, slots=True)
class Splittable:
    """What of an item decides its split."""

    id: str
    ability: str
    unit: str = ""
    media: tuple[str, ...] = ()
    """Digests of its pictures and videos."""
    must_be_public: bool = False


@dataclass(slots=True)
class _Cluster:
    members: list[Splittable] = field(default_factory=list)

    @property
    def ability(self) -> str:
        return self.members[0].ability

    @property
    def first_id(self) -> str:
        return min(member.id for member in self.members)

    @property
    def is_eligible(self) -> bool:
        return not any(member.must_be_public for member in self.members)


def choose_held_out(items: Sequence[Splittable], share: float, seed: int) -> frozenset[str]:
    """Ids of the items that are held out: `share` of each ability, as nearly as units allow.

    The result depends on ids, abilities and the seed only, not on the order of the items.
    """
    clusters = _clusters(items)
    clusters.sort(key=lambda cluster: sampling_key(seed, cluster.first_id))
    sizes: dict[str, int] = {}
    for item in items:
        sizes[item.ability] = sizes.get(item.ability, 0) + 1
    quotas = _quotas(sizes, share)
    taken = dict.fromkeys(sizes, 0)
    chosen: list[_Cluster] = []
    left: list[_Cluster] = []
    for cluster in filter(lambda cluster: cluster.is_eligible, clusters):
        fits = taken[cluster.ability] + len(cluster.members) <= quotas[cluster.ability]
        (chosen if fits else left).append(cluster)
        taken[cluster.ability] += len(cluster.members) if fits else 0
    # Units that did not fit into their ability's quota: at most one more of each ability, while
    # the whole is short of its share.
    target, total = sum(quotas.values()), sum(taken.values())
    filled: set[str] = set()
    for cluster in left:
        if total + len(cluster.members) <= target and cluster.ability not in filled:
            chosen.append(cluster)
            filled.add(cluster.ability)
            total += len(cluster.members)
    return frozenset(member.id for cluster in chosen for member in cluster.members)


def _quotas(sizes: Mapping[str, int], share: float) -> dict[str, int]:
    """Items of each ability, by the largest remainder, so that they sum to the rounded share."""
    exact = {ability: size * share for ability, size in sizes.items()}
    quotas = {ability: floor(amount) for ability, amount in exact.items()}
    missing = round(sum(sizes.values()) * share) - sum(quotas.values())
    by_remainder = sorted(exact, key=lambda ability: (quotas[ability] - exact[ability], ability))
    for ability in by_remainder[: max(missing, 0)]:
        quotas[ability] += 1
    return quotas


def _clusters(items: Iterable[Splittable]) -> list[_Cluster]:
    """Items that share a unit or any one picture, directly or through others, together."""
    parents: dict[str, str] = {}

    def root(name: str) -> str:
        # Union-find with path halving.
        parents.setdefault(name, name)
        while parents[name] != name:
            parents[name] = name = parents[parents[name]]
        return name

    listed = sorted(items, key=lambda item: item.id)
    for item in listed:
        units = [f"unit {item.unit}"] if item.unit else []
        for name in (*units, *(f"picture {digest}" for digest in item.media)):
            parents[root(name)] = root(f"item {item.id}")
    clusters: dict[str, _Cluster] = {}
    for item in listed:
        clusters.setdefault(root(f"item {item.id}"), _Cluster()).members.append(item)
    return list(clusters.values())
