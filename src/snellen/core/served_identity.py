"""What servers say of the models behind their addresses, and where that changes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import pairwise

from msgspec import Struct

COMPARED_FACTS = ("id", "root", "owned_by", "max_model_len")
"""Facts of a listing that tell one model from another. `created` is not among them: vLLM and
llama.cpp give the time of the request there."""
_MAX_NAMES = 4
"""Names in a sentence."""


class ServedIdentity(Struct, frozen=True, omit_defaults=True):
    """What a server said of a model while it was asked. It is noted beside a run and part of no
    digest: a model's name and options are its identity, and who serves them may change."""

    since: str = ""
    """When the first start in which it said so began; UTC, ISO 8601."""
    listed: dict[str, str] = {}
    """The model's entry in the server's list of models, as far as it is given: `id`, `root`,
    `owned_by`, `created`, `max_model_len`."""
    models: dict[str, int] = {}
    """The model that replies say they are by, and how many replies say so."""
    fingerprints: dict[str, int] = {}
    """The same of their `system_fingerprint`, which stands for the server's software and
    settings."""

    def __bool__(self) -> bool:
        return bool(self.listed or self.models or self.fingerprints)

    def merge(self, later: ServedIdentity) -> ServedIdentity:
        """Both as one; counts are added."""
        return ServedIdentity(
            self.since or later.since,
            {**self.listed, **later.listed},
            _add_counts(self.models, later.models),
            _add_counts(self.fingerprints, later.fingerprints),
        )


def append_served(
    before: tuple[ServedIdentity, ...], now: ServedIdentity
) -> tuple[ServedIdentity, ...]:
    """What earlier starts of a run were told, and what this one is: one with the last where
    nothing changed."""
    if not now:
        return before
    if not before or any(identity_differences(before[-1], now)):
        return (*before, now)
    return (*before[:-1], before[-1].merge(now))


def identity_differences(first: ServedIdentity, second: ServedIdentity) -> Iterator[str]:
    """In what two servers say that they serve different models, in words. What one of them does
    not tell is no difference; nor are several fingerprints, as large services have them, as long
    as both have one of them."""
    for name in COMPARED_FACTS:
        one, other = first.listed.get(name), second.listed.get(name)
        if one and other and one != other:
            yield f"{name} {one}, then {other}"
    if first.models and second.models and set(first.models) != set(second.models):
        yield f"replies by {_names(first.models)}, then by {_names(second.models)}"
    if (
        first.fingerprints
        and second.fingerprints
        and not set(first.fingerprints) & set(second.fingerprints)
    ):
        one, other = _names(first.fingerprints), _names(second.fingerprints)
        yield f"system_fingerprint {one}, then {other}"


def identity_changes(role: str, starts: tuple[ServedIdentity, ...]) -> Iterator[str]:
    """A sentence for each change of what answered under one name in one run: between two starts,
    and within one."""
    who = "the model" if role == "model" else f"the {role}"
    for before, after in pairwise(starts):
        description = "; ".join(identity_differences(before, after))
        when = f" (from {after.since} on)" if after.since else ""
        yield f"what the server says of {who} changed between two starts{when}: {description}"
    for one in starts:
        for what, counts in (("model", one.models), ("system_fingerprint", one.fingerprints)):
            if len(counts) > 1:
                names = _names_with_counts(counts)
                yield f"replies of {who} came from more than one {what}: {names}"


def _names(counts: Mapping[str, int]) -> str:
    names = sorted(counts, key=lambda name: (-counts[name], name))
    more = f" and {len(names) - _MAX_NAMES} more" if len(names) > _MAX_NAMES else ""
    return ", ".join(names[:_MAX_NAMES]) + more


def _names_with_counts(counts: Mapping[str, int]) -> str:
    names = sorted(counts, key=lambda name: (-counts[name], name))
    more = f" and {len(names) - _MAX_NAMES} more" if len(names) > _MAX_NAMES else ""
    return ", ".join(f"{name} ({counts[name]:,})" for name in names[:_MAX_NAMES]) + more


def _add_counts(first: Mapping[str, int], second: Mapping[str, int]) -> dict[str, int]:
    names = dict.fromkeys([*first, *second])
    return {name: first.get(name, 0) + second.get(name, 0) for name in names}
