"""Whether the judges of a command take what its benchmarks show them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from snellen.core.benchmark import Benchmark
from snellen.core.errors import UsageError
from snellen.core.model import Model
from snellen.models.naming.catalog import facts_of

_PICTURES = frozenset({"image", "video"})


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


def _source_of_blindness(model: Model) -> str:
    """Who says that the model takes no images; "" if nobody does."""
    entry = facts_of(f"{model.identity.provider}/{model.identity.name}")
    if entry is not None and not set(entry.inputs) & _PICTURES:
        return "by the catalog"
    return "" if model.capabilities.inputs & _PICTURES else "as it is set up"
