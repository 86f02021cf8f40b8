"""Data files that a benchmark's authors or other tools publish: found locally, else fetched."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from snellen.core.benchmark import FetchProgress, Table, Variant
from snellen.core.errors import UsageError
from snellen.data.download import Remote
from snellen.data.locate import locate
from snellen.data.table import open_table
from snellen.settings import Settings


@dataclass(frozen=True, slots=True)
class Published:
    """The files of a benchmark's variants.

    `options` names the parameters and their values, the first of each being the default; `files`
    maps one value of each, in that order, to a file or a split on the hub. Raises
    UsageError for values that no file has, DataError where a file can neither be found nor fetched.
    """

    options: Mapping[str, Sequence[str]]
    files: Mapping[tuple[str, ...], PublishedFile | HubSplit]
    held_out: Mapping[str, str] = field(default_factory=dict)
    """By value of the option `split` ("" where there is none): where examples may come from that
    are never asked there, another value of `split` or a data set."""

    def examples_of(self, variant: Variant) -> str:
        """`Benchmark.held_out` of a variant."""
        splits = self.options.get("split", ("",))
        return self.held_out.get(variant.options.get("split", splits[0]), "")

    def fetch(self, variant: Variant, progress: FetchProgress | None = None) -> Path:
        """The file on this machine: the user's own, a cached one, or freshly fetched."""
        if variant.data is not None:
            return Path(variant.data)
        chosen = self._chosen(variant)
        if isinstance(chosen, HubSplit):
            return Path(open_table(chosen.spec).path)
        name, remote = chosen
        return locate(name, Settings.from_environment(), remote=remote, progress=progress)

    def table(self, variant: Variant) -> Table:
        """The file's rows. Raises as `fetch`."""
        chosen = None if variant.data else self._chosen(variant)
        if isinstance(chosen, HubSplit):
            return open_table(chosen.spec)
        return open_table(variant.data or str(self.fetch(variant)), columns=variant.columns)

    def _chosen(self, variant: Variant) -> PublishedFile | HubSplit:
        chosen = tuple(
            variant.options.get(name, values[0]) for name, values in self.options.items()
        )
        if chosen not in self.files:
            known = "; ".join(",".join(self._named(key)) for key in self.files)
            raise UsageError(f"no data for {','.join(self._named(chosen))}; there are: {known}")
        return self.files[chosen]

    def _named(self, values: tuple[str, ...]) -> list[str]:
        return [f"{name}={value}" for name, value in zip(self.options, values, strict=True)]


class PublishedFile(NamedTuple):
    """The name a file goes by, here and in other tools' folders, and where it is published."""

    name: str
    remote: Remote


class HubSplit(NamedTuple):
    """A split of a data set on the Hugging Face hub: `hf://org/name?config=..&split=..`."""

    spec: str


def tsv(url: str, md5: str) -> PublishedFile:
    """A published file under the name it has at its address."""
    return PublishedFile(url.rsplit("/", 1)[-1], Remote(urls=(url,), md5=md5))
