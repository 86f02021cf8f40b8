"""Whether the judges of a command are asked anything, and take what its benchmarks show them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from snellen.benchmarks.protocol.judging import JUDGE
from snellen.benchmarks.protocol.similarity import compares_open_answers
from snellen.core.benchmark import Benchmark
from snellen.core.errors import UsageError
from snellen.core.model import Model
from snellen.models.naming.catalog import facts_of

_PICTURES = frozenset({"image", "video"})


def check_judges(benchmarks: Sequence[Benchmark], roles: Mapping[str, Model]) -> None:
    """Raises UsageError if there are judges and they are asked nothing, or cannot take what they are
    shown."""
    check_judges_used(benchmarks, roles)
    check_judges_see(benchmarks, roles)


def check_judges_see(benchmarks: Iterable[Benchmark], roles: Mapping[str, Model]) -> None:
    """Raises UsageError if a judge is known to take no images and a benchmark shows its judges
    some: by its declared inputs, or by the catalog. What a server's unlisted model takes is not
    known before it is asked."""
    for benchmark in benchmarks:
        if not benchmark.judges_see_media:
            continue
        for role, model in roles.items():
            if role in benchmark.extra_roles and (source := _source_of_blindness(model)):
                raise UsageError(
                    f"the {role} {model.identity.name} takes no images ({source}), and "
                    f"{benchmark.name} shows its judges those of the question; name a judge that "
                    "takes images (snellen list models --filter modality=image); nothing was "
                    "asked yet"
                )


def check_judges_used(benchmarks: Iterable[Benchmark], roles: Mapping[str, Model]) -> None:
    """Raises UsageError if there are judges and no benchmark has a question for them. Own data, of
    which judges grade open questions alone, are read up to the first one."""
    if JUDGE not in roles:
        return
    names = []
    for benchmark in benchmarks:
        names.append(benchmark.name)
        if JUDGE in benchmark.extra_roles and (
            not compares_open_answers(benchmark)
            or benchmark.fetch is not None
            or any(sample.kind == "open" for sample in benchmark.samples(benchmark.open()))
        ):
            return
    raise UsageError(
        f"no question of {', '.join(names)} is graded by a judge, so that a judge would be asked "
        "nothing; leave out --judge (replies that no rule can match are for --extractor); nothing "
        "was asked yet"
    )


def _source_of_blindness(model: Model) -> str:
    """Who says that the model takes no images; "" if nobody does."""
    entry = facts_of(f"{model.identity.provider}/{model.identity.name}")
    if entry is not None and not set(entry.inputs) & _PICTURES:
        return "by the catalog"
    return "" if model.capabilities.inputs & _PICTURES else "as it is set up"
