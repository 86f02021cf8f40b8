"""What servers report about the models that they serve, and when that changes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import pairwise

from msgspec import Struct, structs

COMPARED_FACTS = ("id", "root", "owned_by", "max_model_len")
"""Fields of a listing that distinguish models. Not `created`: vLLM and llama.cpp report the time of
the request there."""
_MAX_NAMES = 4
"""Names that a sentence lists."""


class ServedIdentity(Struct, frozen=True, omit_defaults=True):
    """What a server reported about a model during a run.

    Recorded with a run, but part of no digest: a model's name and options are its identity, and who
    serves it may change.
    """

    since: str = ""
    """Begin of the first start in which it was reported; UTC, ISO 8601."""
    listed: dict[str, str] = {}
    """The model's entry in the server's list of models: those of `id`, `root`, `owned_by`,
    `created`, `max_model_len` that it has."""
    models: dict[str, int] = {}
    """Models that replies name, with the number of replies."""
    fingerprints: dict[str, int] = {}
    """Values of `system_fingerprint`, which stands for the server's software and settings, with
    the number of replies."""
    packages: dict[str, str] = {}
    """Versions of Python and of the packages in the environment that Snellen made for the server,
    by name."""
    lock: str = ""
    """SHA-256 of the lock from which that environment was installed."""

    def __bool__(self) -> bool:
        return bool(self.listed or self.models or self.fingerprints or self.packages)

    def beyond(self, earlier: ServedIdentity) -> ServedIdentity | None:
        """What this report counts beyond an earlier state of it; None if nothing."""
        models = _more(self.models, earlier.models)
        fingerprints = _more(self.fingerprints, earlier.fingerprints)
        if not models and not fingerprints:
            return None
        return structs.replace(self, models=models, fingerprints=fingerprints)

    def merge(self, later: ServedIdentity) -> ServedIdentity:
        """Merge with a later report; counts are added."""
        return ServedIdentity(
            self.since or later.since,
            {**self.listed, **later.listed},
            _add_counts(self.models, later.models),
            _add_counts(self.fingerprints, later.fingerprints),
            later.packages or self.packages,
            later.lock or self.lock,
        )


def append_served(before: tuple[ServedIdentity, ...], now: ServedIdentity) -> tuple[ServedIdentity, ...]:
    """Append the report of this start to those of earlier starts, merged with the last one if
    nothing changed."""
    if not now:
        return before
    if not before or any(identity_differences(before[-1], now)):
        return (*before, now)
    return (*before[:-1], before[-1].merge(now))


def identity_differences(first: ServedIdentity, second: ServedIdentity) -> Iterator[str]:
    """Differences between two reports, in words.

    What only one of them states is not a difference; nor are different fingerprints, of which large
    services have many, as long as the two share one.
    """
    for name in COMPARED_FACTS:
        before, after = first.listed.get(name), second.listed.get(name)
        if before and after and before != after:
            yield f"{name} {before}, then {after}"
    if first.models and second.models and set(first.models) != set(second.models):
        yield f"replies by {_names(first.models)}, then by {_names(second.models)}"
    if first.fingerprints and second.fingerprints and not set(first.fingerprints) & set(second.fingerprints):
        before, after = _names(first.fingerprints), _names(second.fingerprints)
        yield f"system_fingerprint {before}, then {after}"
    if first.packages and second.packages and first.packages != second.packages:
        yield f"packages of its environment: {_package_differences(first, second)}"


def _package_differences(first: ServedIdentity, second: ServedIdentity) -> str:
    """The packages whose versions differ, with both, e.g. `timm 0.9.16, then 1.0.3`."""
    names = sorted(first.packages.keys() | second.packages.keys())
    differing = [
        f"{name} {first.packages.get(name, 'absent')}, then {second.packages.get(name, 'absent')}"
        for name in names
        if first.packages.get(name) != second.packages.get(name)
    ]
    more = f" and {len(differing) - _MAX_NAMES} more" if len(differing) > _MAX_NAMES else ""
    return ", ".join(differing[:_MAX_NAMES]) + more


def identity_changes(role: str, starts: tuple[ServedIdentity, ...]) -> Iterator[str]:
    """A sentence for each change of the served model in one run, between starts and within one."""
    who = "the model" if role == "model" else f"the {role}"
    for before, after in pairwise(starts):
        description = "; ".join(identity_differences(before, after))
        when = f" (from {after.since} on)" if after.since else ""
        yield f"what the server says of {who} changed between two starts{when}: {description}"
    for start in starts:
        for what, counts in (("model", start.models), ("system_fingerprint", start.fingerprints)):
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


def _more(counts: Mapping[str, int], before: Mapping[str, int]) -> dict[str, int]:
    return {name: more for name, count in counts.items() if (more := count - before.get(name, 0)) > 0}
