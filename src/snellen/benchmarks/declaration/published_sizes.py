"""Published numbers of questions of benchmarks (`benchmarks/data/sizes.toml`)."""

from __future__ import annotations

from functools import cache

import msgspec
from msgspec import Struct

from snellen.core.benchmark import Benchmark
from snellen.data.toml_files import read_packaged

_FILE = "data/sizes.toml"


class PublishedSize(Struct, frozen=True, forbid_unknown_fields=True):
    questions: int
    source: str
    """Which data these are, and where they are described."""
    parameters: dict[str, str] = {}
    """Parameters of the variant; empty for every variant."""


@cache
def published_sizes() -> dict[str, PublishedSize]:
    """The known sizes, by the name of the benchmark."""
    return msgspec.convert(read_packaged("snellen.benchmarks", _FILE), dict[str, PublishedSize])


def published_size(benchmark: Benchmark) -> PublishedSize | None:
    """The size of a variant; None if it is not known."""
    size = published_sizes().get(benchmark.name)
    if size is None:
        return None
    values = benchmark.parameters
    same = all(values.get(name) == value for name, value in size.parameters.items())
    return size if same else None
