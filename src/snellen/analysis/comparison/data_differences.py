"""Notices for runs on different data, or on data that is not the published file."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from snellen.core.run import RunInfo

_MAX_LISTED = 4
_DIGITS = 8


def data_notices(runs: Sequence[RunInfo], names: Sequence[str]) -> Iterator[str]:
    """The data notes of runs that have one, then a sentence for each benchmark whose runs used
    different data of one variant."""
    named = zip(names, runs, strict=True)
    yield from named_notices((name, run.data.note) for name, run in named if run.data.note)
    yield from different_data_notices(runs)


def named_notices(notices: Iterable[tuple[str, str]]) -> Iterator[str]:
    """Each notice once, behind the name of its run, or the number and names of the runs that have
    it in common."""
    runs: dict[str, list[str]] = {}
    for name, notice in notices:
        runs.setdefault(notice, []).append(name)
    for notice, names in runs.items():
        count = f"{len(names)} runs, " if len(names) > 1 else ""
        yield f"{count}{_name_list([*dict.fromkeys(names)])}: {notice}"


def different_data_notices(runs: Sequence[RunInfo]) -> Iterator[str]:
    """A sentence for each benchmark whose runs used different data although their options request
    the same."""
    same_request: dict[tuple[object, ...], list[RunInfo]] = {}
    for run in runs:
        same_request.setdefault(_requested_data(run), []).append(run)
    for members in same_request.values():
        by_digest = {run.data.digest: run for run in members}
        if len(by_digest) > 1:
            datasets = [f"{run.model} on {describe_data(run)}" for run in by_digest.values()]
            yield (
                f"the runs of {members[0].benchmark} were made on different data, so that their "
                f"scores are not of the same questions: {_name_list(datasets)}"
            )


def _name_list(names: Sequence[str]) -> str:
    more = f" and {len(names) - _MAX_LISTED} more" if len(names) > _MAX_LISTED else ""
    return ", ".join(names[:_MAX_LISTED]) + more


def data_qualifiers(runs: Sequence[RunInfo]) -> list[str]:
    """For each run what distinguishes its data from that of runs with the same request; empty if
    nothing does."""
    digests: dict[tuple[object, ...], set[str]] = {}
    for run in runs:
        digests.setdefault(_requested_data(run), set()).add(run.data.digest)
    return [f"data {run.data.digest[:_DIGITS]}" if len(digests[_requested_data(run)]) > 1 else "" for run in runs]


def describe_data(run: RunInfo) -> str:
    """The data of a run in a few words: the file, its digest, and whether it is published."""
    origin = run.data.origin
    kind = "" if origin is None or origin.kind == "own" else f", {_KINDS.get(origin.kind, '')}"
    return f"{run.data.path} ({run.data.digest[:_DIGITS]}{kind})"


_KINDS = {
    "published": "published",
    "custom": "not the published file",
    "unverified": "not compared with the published file",
}


def _requested_data(run: RunInfo) -> tuple[object, ...]:
    """The key of the data that a run's benchmark and options request."""
    origin = run.data.origin
    if origin is not None and origin.published:
        return run.benchmark, origin.published
    return run.benchmark, tuple(sorted(run.config.parameters.items()))
