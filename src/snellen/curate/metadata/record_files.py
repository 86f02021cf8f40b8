"""Several metadata files as one: those of the data sets that a benchmark is made of."""

from __future__ import annotations

import os
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType

from msgspec.structs import replace

from snellen.core.errors import DataError
from snellen.core.limits import DEFAULT_LIMITS, Limits
from snellen.curate.metadata.record_file import RecordFile, RecordLine
from snellen.curate.metadata.records import (
    CategorySpace,
    MetadataHeader,
    MetadataRecord,
    SourceFacts,
)
from snellen.curate.step import SourceInfo


class RecordFiles:
    """Records of several files in order, under one header. Offsets go on from file to file."""

    def __init__(self, paths: Sequence[Path], limits: Limits = DEFAULT_LIMITS) -> None:
        """Raises DataError for a file that cannot be used, and for headers that say different
        things of the same source or category space."""
        if not paths:
            raise DataError("no metadata file is named")
        with ExitStack() as stack:
            self._files = [stack.enter_context(RecordFile(path, limits)) for path in paths]
            self.header = _merge_headers(self._files)
            self._stack = stack.pop_all()
        self._starts = [0]
        for path in paths:
            self._starts.append(self._starts[-1] + path.stat().st_size)

    def __enter__(self) -> RecordFiles:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stack.close()

    @property
    def folders(self) -> tuple[str, ...]:
        """The folders of the files, in which the media that they name are searched."""
        return tuple(dict.fromkeys(str(file.folder) for file in self._files))

    def __str__(self) -> str:
        return ", ".join(str(file.path) for file in self._files)

    def __iter__(self) -> Iterator[RecordLine]:
        """All lines with a record or a problem. Raises DataError for a file without any."""
        for start, file in zip(self._starts, self._files, strict=False):
            for line in file.lines(self.header):
                yield line._replace(name=self._name(line.name, file), offset=line.offset + start)

    def names(self) -> Iterator[str]:
        """The names of all lines that `__iter__` yields, in order."""
        for file in self._files:
            for name in file.names():
                yield self._name(name, file)

    def read(self, offset: int) -> MetadataRecord:
        """The record at an offset that `__iter__` gave, with absolute paths of its media."""
        index = bisect_right(self._starts, offset) - 1
        file = self._files[index]
        record = file.read(offset - self._starts[index])
        return replace(
            record,
            images=tuple(os.path.join(file.folder, name) for name in record.images),  # noqa: PTH118
            video=str(file.folder / record.video) if record.video else "",
        )

    def describe(self) -> list[SourceInfo]:
        """The files with their digests and numbers of lines."""
        return [
            SourceInfo(file.path.stem, str(file.path), file.digest(), file.count_lines())
            for file in self._files
        ]

    def _name(self, name: str, file: RecordFile) -> str:
        """A line that cannot be read is named by its file as well, if there are several."""
        unread = name.startswith("line ") and len(self._files) > 1
        return f"{file.path.name} {name}" if unread else name


def _merge_headers(files: Sequence[RecordFile]) -> MetadataHeader:
    sources: dict[str, SourceFacts] = {}
    spaces: dict[str, CategorySpace] = {}
    for file in files:
        again = [
            f"the source {name!r}"
            for name, facts in file.header.sources.items()
            if sources.setdefault(name, facts) != facts
        ] + [
            f"the category space {name!r}"
            for name, space in file.header.spaces.items()
            if spaces.setdefault(name, space) != space
        ]
        if again:
            raise DataError(
                f"{file.path} describes {again[0]} in another way than the files before it; give "
                "one of them another name"
            )
    return MetadataHeader(sources=sources, spaces=spaces)
