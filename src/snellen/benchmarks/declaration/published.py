"""Data files that a benchmark's authors or other tools publish: found locally, else fetched.

Every table says whether it is the published file (`Origin`): numbers over the user's own file in
its place are marked.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import NamedTuple

from snellen.core.benchmark import DataTable, FetchProgress, Variant
from snellen.core.errors import UnknownName, UsageError
from snellen.core.sample import Origin, OriginKind
from snellen.data.download import RemoteFile
from snellen.data.json_parts import JsonParts
from snellen.data.locate import find_files, find_verified, locate_data_file, wrong_content_checksum
from snellen.data.tables.derived import DerivedTable
from snellen.data.tables.open_table import IndexedTable, open_table
from snellen.data.tables.sound_and_tools import refuse_sound_and_tools
from snellen.settings import Settings


@dataclass(frozen=True, slots=True)
class Published:
    """The files of a benchmark's variants.

    `options` names the parameters and their values, the default first; `files` maps one value of
    each, in that order, to a file or a split on the hub. Raises UsageError for values without a
    file, DataError if a file can neither be found nor fetched.
    """

    options: Mapping[str, Sequence[str]]
    files: Mapping[tuple[str, ...], PublishedFile | HubSplit]
    held_out: Mapping[str, str] = field(default_factory=dict)
    """By value of the option `split` ("" where there is none): where examples may come from that
    are never asked there, another value of `split` or a data set."""
    columns: Mapping[str, str] = field(default_factory=dict)
    """What columns of the files are called, where they do not tell: our name to theirs. A file of
    the user's without one of them is read by its own names."""

    def few_shot_source(self, variant: Variant) -> str:
        """`Benchmark.few_shot_pool` of a variant."""
        splits = self.options.get("split", ("",))
        return self.held_out.get(variant.options.get("split", splits[0]), "")

    def fetcher(self, variant: Variant) -> Callable[[FetchProgress | None], Path] | None:
        """Brings the file to this machine: `fetch` of this variant."""
        return partial(self.fetch, variant)

    def fetch(self, variant: Variant, progress: FetchProgress | None = None) -> Path:
        """The file on this machine: the user's own, a cached one, or freshly fetched."""
        if variant.data is not None:
            return Path(variant.data)
        source = self._source(variant, progress)
        return Path(open_table(source.spec).path) if isinstance(source, HubSplit) else source

    def table(self, variant: Variant) -> DataTable:
        """The file's rows. Raises as `fetch`."""
        source = variant.data or self._source(variant)
        if isinstance(source, HubSplit):
            return self.with_origin(open_table(source.spec, columns=source.columns), variant)
        table = self._open(str(source), variant)
        if variant.data is not None:
            refuse_sound_and_tools(table)
        return self.with_origin(table, variant)

    def _open(self, source: str, variant: Variant) -> DataTable:
        if self.columns:
            with contextlib.suppress(UnknownName):
                return open_table(source, columns={**self.columns, **variant.columns})
        return open_table(source, columns=variant.columns)

    def _source(self, variant: Variant, progress: FetchProgress | None = None) -> Path | HubSplit:
        """Where the rows of a variant are: a file on this machine, or a split on the hub."""
        published_file, settings = self._file_of(variant), Settings.from_environment()
        if isinstance(published_file, HubSplit):
            return published_file
        name, remote, alternative, how_built = published_file
        if alternative is None:
            return locate_data_file(name, settings, remote=remote, progress=progress, hint=how_built)
        here = find_verified(name, settings, remote).path
        if here is not None:
            return here
        if isinstance(alternative, HubSplit):
            return alternative
        return Path(alternative.fetch(settings, progress))

    def with_origin(self, table: DataTable, variant: Variant) -> DataTable:
        """The table with the origin of this variant's rows."""
        return with_origin(table, self._origin(table.path, variant))

    def declared_file(self, variant: Variant) -> PublishedFile | HubSplit | None:
        """The file or split of a variant; None if it has none."""
        return self.files.get(self._values(variant))

    def facts(self, variant: Variant, spec: str) -> dict[str, str]:
        """What `snellen info` prints about the data of a variant."""
        declared = self.declared_file(variant)
        if declared is None:
            descriptions = [file.description() for file in self.files.values()]
            return {"data": "; ".join(descriptions)} if descriptions else {}
        if isinstance(declared, HubSplit):
            return {"data": declared.spec}
        other = declared.alternative
        elsewhere = other.spec if isinstance(other, HubSplit) else other.about if other else ""
        urls = " or ".join(filter(None, (*declared.remote.urls, elsewhere)))
        how_built = f": {declared.how_built}" if declared.how_built else ""
        urls = urls or f"no public address is known{how_built}"
        return {"data": f"{declared.description()}, {urls}", "here": _local_status(declared, spec)}

    def _origin(self, path: str, variant: Variant) -> Origin:
        declared = self.declared_file(variant)
        published = "" if declared is None else declared.description()
        kind: OriginKind = "published"
        note = ""
        if variant.data is not None:
            note = _difference_notice(variant.data, declared)
            kind = "custom" if note else "published"
            if not self.files:
                kind, note = "own", ""
        elif isinstance(declared, PublishedFile) and not declared.is_verifiable(path):
            kind = "unverified"
            note = (
                f"data: {path} has the name of the published file, of which no checksum is known: "
                "whether it is that file was not checked"
            )
        return Origin(kind, note, published, absolute_path(path), dict(variant.columns))

    def _file_of(self, variant: Variant) -> PublishedFile | HubSplit:
        values = self._values(variant)
        if not self.files:
            raise UsageError("the data of this benchmark are not downloaded; give its authors' file with --data FILE")
        if values not in self.files:
            known_files = "; ".join(",".join(self._option_texts(key)) for key in self.files)
            raise UsageError(f"no data for {','.join(self._option_texts(values))}; there are: {known_files}")
        return self.files[values]

    def _values(self, variant: Variant) -> tuple[str, ...]:
        return tuple(variant.options.get(name, values[0]) for name, values in self.options.items())

    def _option_texts(self, values: tuple[str, ...]) -> list[str]:
        return [f"{name}={value}" for name, value in zip(self.options, values, strict=True)]


class PublishedFile(NamedTuple):
    """The name of a file, here and in other tools' folders, and where it is published."""

    name: str
    remote: RemoteFile
    alternative: HubSplit | JsonParts | None = None
    """Where the same questions are published in another form, for those who have not this one."""
    how_built: str = ""
    """Who makes the file of what, where nobody publishes it."""

    def is_verifiable(self, path: str) -> bool:
        """Whether a different file under this name would be noticed: its checksum is known, the
        rows come from elsewhere, or the file is where downloads go."""
        if self.remote.checksum() is not None or self.alternative is not None:
            return True
        home = Settings.from_environment().datasets
        return bool(self.remote.urls) and Path(path).parent == home

    def description(self) -> str:
        """The name with its checksum."""
        checksum = self.remote.checksum()
        return f"{self.name}, {' '.join(checksum)}" if checksum else self.name


class HubSplit(NamedTuple):
    """A split of a data set on the Hugging Face hub: `hf://org/name?config=..&split=..`."""

    spec: str
    columns: Mapping[str, str] | None = None
    """What its columns are called, where they do not tell: our name to theirs."""

    def description(self) -> str:
        return self.spec


def with_origin(table: DataTable, origin: Origin) -> DataTable:
    """The table with its origin; tables of plug-ins, which have no place for one, are unchanged."""
    return replace(table, origin=origin) if isinstance(table, IndexedTable | DerivedTable) else table


def packaged_origin(name: str, table: DataTable, variant: Variant) -> Origin:
    """The origin of a table that is by default a file of this package."""
    note = ""
    if variant.data is not None:
        note = f"data: {variant.data} is a file of one's own in place of the packaged {name}"
    kind: OriginKind = "custom" if note else "published"
    return Origin(kind, note, name, absolute_path(table.path), dict(variant.columns))


def absolute_path(spec: str) -> str:
    """The absolute path of a data file or folder; a data set of the hub as it is."""
    if "://" in spec:
        return spec
    name, mark, query = spec.partition("?")
    return f"{Path(name).expanduser().absolute()}{mark}{query}"


def _difference_notice(data: str, declared: PublishedFile | HubSplit | None) -> str:
    """A sentence that the user's file is not the published one; empty if it is."""
    if isinstance(declared, HubSplit):
        if data == declared.spec:
            return ""
        return f"data: {data} is a file of one's own in place of the published {declared.spec}"
    path = Path(data).expanduser()
    checksum = declared.remote.checksum() if declared is not None else None
    if declared is None or checksum is None or not path.is_file():
        where = f" {declared.name}" if declared is not None else " data"
        return f"data: {data} is a file of one's own in place of the published{where}"
    settings = Settings.from_environment()
    actual = wrong_content_checksum(path, declared.remote, settings.cache, settings.limits)
    if actual is None:
        return ""
    algorithm, published = checksum
    return f"data: {data} is not the published file {declared.name} ({algorithm} {actual}, published {published})"


def _local_status(declared: PublishedFile, spec: str) -> str:
    """Where the published file is on this machine, or how to fetch it."""
    settings = Settings.from_environment()
    lines: list[str] = []
    for path in find_files(declared.name, settings):
        other = wrong_content_checksum(path, declared.remote, settings.cache, settings.limits)
        if other is None:
            has_checksum = declared.remote.checksum() is not None
            status = "the published file" if has_checksum else "not compared: no checksum is known"
            return "; ".join([*lines, f"{path} ({status})"])
        lines.append(f"{path} is not the published file (it has {other})")
    folder = settings.datasets
    fetched = declared.remote.urls or declared.alternative
    get = f"snellen data pull {spec}" if fetched else f"put it in {folder}"
    return "; ".join([*lines, f"no: {get}"])


def published_tsv(url: str, md5: str | None = None, name: str | None = None) -> PublishedFile:
    """A published file, under the name it has at its address unless another is given."""
    return PublishedFile(name or url.rsplit("/", 1)[-1], RemoteFile(urls=(url,), md5=md5))


def single_tsv(url: str, md5: str | None = None, name: str | None = None) -> Published:
    """The one file of a benchmark without variants, as `published_tsv`."""
    return Published({}, {(): published_tsv(url, md5, name)})
