"""In what runs differ. Those with the same questions, the same prompts and the same scoring may be
ranked together; of those on different data, or not on the published file, a notice says so."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from operator import itemgetter
from pathlib import Path

from msgspec import structs

from snellen.core.benchmark import COORDINATES, COORDINATES_FROM
from snellen.core.errors import UsageError
from snellen.core.grouping import group_by
from snellen.core.model import Identity
from snellen.core.request import MAIN
from snellen.core.run import RunInfo
from snellen.core.served_identity import ServedIdentity, identity_differences
from snellen.models.naming.spec import short_name

_DIGITS = 8
_MAX_LENGTH = 24
_MAX_LISTED = 4
_KINDS = {
    "published": "published",
    "custom": "not the published file",
    "unverified": "not compared with the published file",
}
DATA = "data"
EXTENT = "samples asked"
"""Whether all samples that were to be asked were asked."""
COMPLETE = "all samples"
STOPPED = "stopped early by its rule"
UNFINISHED = "not finished"


def run_facts(run: RunInfo) -> dict[str, str]:
    """What must be equal for two runs to be comparable, by name. Values read well after their name:
    `limit 100`, `failures count-wrong`."""
    config = run.config
    facts = {
        "benchmark": config.benchmark,
        "version": config.version,
        DATA: config.data[:_DIGITS],
        **{f"{key}=": value for key, value in sorted(_parameters(run).items())},
        "limit": "none" if config.limit is None else f"{config.limit:,}",
        # The seed selects samples and their order; it has no effect if all samples are asked.
        "seed": str(config.seed) if config.limit is not None or config.until else "none",
        "until": config.until or "none",
        EXTENT: extent_asked(run),
        "failures": run.failures,
        "repeats": str(config.repeats),
        "examples": "none" if config.examples is None else config.examples.digest[:_DIGITS],
    }
    for role, identity in sorted(config.roles.items()):
        sampling_text = "".join(f", {key} {value}" for key, value in _sampling(run, role))
        facts[role] = _identity(identity) + sampling_text
    return facts


def _parameters(run: RunInfo) -> dict[str, str]:
    """The parameters of the benchmark. A coordinate space in which the model writes of itself is a
    fact of the model: two models that are each asked in their own are comparable."""
    parameters = dict(run.config.parameters)
    if parameters.pop(COORDINATES_FROM, ""):
        parameters[COORDINATES] = "each model's own"
    return parameters


def extent_asked(run: RunInfo) -> str:
    """Whether all samples that the run was to ask were asked."""
    if run.status in ("running", "interrupted"):
        return UNFINISHED
    return STOPPED if run.stopped else COMPLETE


def differing_facts(runs: Sequence[RunInfo]) -> list[str]:
    """The names of the facts that differ among the runs, in the order of `run_facts`. A seed that
    nobody set does not differ from none."""
    every = [run_facts(run) for run in runs]
    names = dict.fromkeys(name for facts in every for name in facts)
    differing = [name for name in names if len({facts.get(name) for facts in every}) > 1]
    if {facts["seed"] for facts in every} <= {"none", "0"}:
        differing = [name for name in differing if name != "seed"]
    return differing


def describe_facts(run: RunInfo, names: Iterable[str]) -> str:
    """The named facts of a run, e.g. `limit 100, seed 1`."""
    facts = run_facts(run)
    return ", ".join(_fact_text(name, facts.get(name, "none")) for name in names)


def comparable_sets(runs: Sequence[RunInfo]) -> list[tuple[int, ...]]:
    """Indices of the runs that may be ranked together, with equal facts, by model and folder.
    Sorted by benchmark, complete sets before others, larger before smaller; the order of `runs`
    does not matter."""
    keys = [tuple(run_facts(run).items()) for run in runs]
    indices = sorted(range(len(runs)), key=lambda index: (runs[index].model, runs[index].name, keys[index]))
    sets = group_by(indices, lambda index: keys[index])
    order = sorted(sets, key=lambda key: (*_completeness_key(runs[sets[key][0]]), -len(sets[key]), key))
    return [tuple(sets[key]) for key in order]


def _completeness_key(run: RunInfo) -> tuple[str, bool, bool]:
    return run.benchmark, extent_asked(run) != COMPLETE, run.config.limit is not None


def check_comparable(runs: Sequence[RunInfo], names: Sequence[str], where: str, *, free: Collection[str] = ()) -> None:
    """Check that all runs may be put in one `where` (a table, a column) with the first. `free`
    names parameters that may differ.

    Raises UsageError that names the differing facts.
    """
    if len(runs) < 2:
        return
    may_differ = {f"{name}=" for name in free}
    for run, name in zip(runs[1:], names[1:], strict=True):
        differing = [fact for fact in differing_facts([runs[0], run]) if fact not in may_differ]
        if differing:
            raise UsageError(
                f"{names[0]} and {name} do not belong in one {where}: the first has "
                f"{describe_facts(runs[0], differing)}; the second "
                f"{describe_facts(run, differing)}; give runs that are alike in this"
            )


def distinct_names(runs: Sequence[RunInfo], paths: Sequence[Path]) -> list[str]:
    """A name for each run of a comparable set: the model, and if several runs are of one model, the
    settings that differ. `paths` are the folders of the runs.

    Raises UsageError if two runs do not differ: the user has to choose one.
    """
    models = [short_name(run.model) for run in runs]
    names = list(models)
    for model, members in group_by(range(len(runs)), lambda index: models[index]).items():
        if len(members) < 2:
            continue
        every = [_settings(runs[index]) for index in members]
        keys = dict.fromkeys(key for settings in every for key in settings)
        differing_keys = [key for key in keys if len({settings.get(key) for settings in every}) > 1]
        first_index: dict[str, int] = {}
        for index, settings in zip(members, every, strict=True):
            suffix = ", ".join(f"{key} {_short(settings[key])}" for key in differing_keys if key in settings)
            names[index] = f"{model} ({suffix})" if suffix else model
            if names[index] in first_index:
                twins = " and ".join(sorted(str(paths[twin]) for twin in (first_index[names[index]], index)))
                raise UsageError(
                    f"two runs of {names[index]} on {runs[index].benchmark} have the same "
                    f"settings ({twins}); give only the one that counts"
                )
            first_index[names[index]] = index
    return names


def _settings(run: RunInfo) -> Mapping[str, str]:
    """Settings in which two runs of one model may differ and still be comparable."""
    config = run.config
    return {
        "model": f"{config.identity.provider}/{config.identity.name}",
        **{key: str(value) for key, value in config.identity.facts.items()},
        "reply tokens": str(config.longest_reply),
        "run seed": str(config.seed),
        **({"asked again": config.fresh} if config.fresh else {}),
        **({"at": run.address} if run.address else {}),
        **dict(_sampling(run, MAIN)),
    }


def _sampling(run: RunInfo, role: str) -> Iterator[tuple[str, str]]:
    """How the replies of a role were sampled, if the command said so."""
    sampling = run.config.sampling.get(role)
    for key, value in (structs.asdict(sampling) if sampling is not None else {}).items():
        if value is not None:
            yield key.replace("_", " "), str(value)


def _identity(identity: Identity) -> str:
    facts_text = "".join(f", {key} {_short(str(value))}" for key, value in sorted(identity.facts.items()))
    return f"{identity.provider}/{identity.name}{facts_text}"


def _short(text: str) -> str:
    return text if len(text) <= _MAX_LENGTH else f"{text[:_MAX_LENGTH]}…"


def _fact_text(name: str, value: str) -> str:
    if name == EXTENT:
        return value
    if value == "none":
        return f"no {name.removesuffix('=')}"
    if name.endswith("="):
        return f"{name}{value}"
    if name == "until":
        return f"--until {value}"
    return f"{name} {value}"


def data_notices(runs: Sequence[RunInfo], names: Sequence[str]) -> Iterator[str]:
    """The data notes of runs that have one, then a sentence for each benchmark whose runs used
    different data of one variant."""
    named = zip(names, runs, strict=True)
    yield from named_notices((name, run.data.note) for name, run in named if run.data.note)
    yield from different_data_notices(runs)


def named_notices(notices: Iterable[tuple[str, str]]) -> Iterator[str]:
    """Each notice once, behind the name of its run, or the number and names of the runs that have
    it in common."""
    for notice, named in group_by(notices, itemgetter(1)).items():
        count = f"{len(named)} runs, " if len(named) > 1 else ""
        yield f"{count}{_name_list([*dict.fromkeys(name for name, _ in named)])}: {notice}"


def different_data_notices(runs: Sequence[RunInfo]) -> Iterator[str]:
    """A sentence for each benchmark whose runs used different data although their options request
    the same."""
    for members in group_by(runs, _requested_data).values():
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


def _requested_data(run: RunInfo) -> tuple[object, ...]:
    """The key of the data that a run's benchmark and options request."""
    origin = run.data.origin
    if origin is not None and origin.published:
        return run.benchmark, origin.published
    return run.benchmark, tuple(sorted(run.config.parameters.items()))


def served_notices(runs: Sequence[RunInfo], names: Sequence[str]) -> Iterator[str]:
    """A sentence for each model name whose servers reported different models: the first two runs
    that differ. Covers judges and extractors too."""
    first: dict[tuple[str, str], list[tuple[str, ServedIdentity]]] = {}
    for run, name in zip(runs, names, strict=True):
        for role, starts in run.served.items():
            identity = run.config.identity if role == MAIN else run.config.roles.get(role)
            if identity is not None and starts:
                key = (role, f"{identity.provider}/{identity.name}")
                first.setdefault(key, []).append((f"{name} ({run.benchmark})", starts[-1]))
    for (role, model), answers in first.items():
        (name, first_answer), *others = answers
        for other, answer in others:
            differing = "; ".join(identity_differences(first_answer, answer))
            if differing:
                who = f"{name}: the two" if name == other else f"{name} and {other}: their"
                what = model if role == MAIN else f"{role} {model}"
                yield f"{who} servers report different models for {what}: {differing}"
                break
