"""Images of a run on request: stored thumbnails, or from the data by digest."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from threading import Lock

from snellen.analysis.comparison.reopened_data import benchmark_with_data
from snellen.core.benchmark import Benchmark
from snellen.core.errors import SnellenError, UsageError
from snellen.core.media import InlineSource, Source, decode_image
from snellen.core.recent import RecentValues
from snellen.core.sample import MediaRef, Sample
from snellen.report.page.thumbnails import read_thumbnail, thumbnail
from snellen.settings import max_image_pixels
from snellen.store.responses import STORE_FILE, ResponseStore
from snellen.store.runs import RunFolder

Notify = Callable[[str], None]
MAX_THUMBNAILS = 2_000
"""Thumbnails in memory, of at most 20 kB each."""


def ignore_notice(_: str) -> None:
    """Ignore a notice."""


class RunImages:
    """The images of one run. The data are opened with the first request; nothing is written.
    Thread-safe."""

    def __init__(self, run: RunFolder, moved: Sequence[str] = (), notify: Notify = ignore_notice) -> None:
        """The data may have been `moved` to one of these files; `notify` gets a sentence if they
        are not found."""
        self._run = run
        self._moved, self._notify = moved, notify
        self._lock = Lock()
        self._benchmark: Benchmark | None = None
        self._sources: dict[str, Source] | None = None
        self._samples: dict[str, Sample] | None = None
        self._thumbnails: RecentValues[bytes | None] = RecentValues(MAX_THUMBNAILS, lambda _: 1)

    def __reduce__(self) -> tuple[type[RunImages], tuple[RunFolder, Sequence[str], Notify]]:
        """A copy, also in another process, reopens the data."""
        return RunImages, (self._run, self._moved, self._notify)

    def thumbnail(self, digest: str, sample: str) -> bytes | None:
        """A JPEG of at most 20 kB; None if there is no such image. `sample` is the id of a sample
        that has it."""
        stored = read_thumbnail(self._run.path, digest)
        if stored is not None:
            return stored
        with self._lock:
            if digest in self._thumbnails:
                return self._thumbnails.get(digest)
            data = self._read_original(digest, sample)
            return self._thumbnails.put(digest, _shrink(data) if data else None)

    def original(self, digest: str, sample: str) -> bytes | None:
        """The original bytes; None if they are not found."""
        with self._lock:
            return self._read_original(digest, sample)

    def _read_original(self, digest: str, sample: str) -> bytes | None:
        try:
            source = self._find_source(digest, sample)
            return source.read() if source else None
        except (SnellenError, OSError):
            # The data were moved, or never here: the page says that the image is missing.
            return None

    def _find_source(self, digest: str, sample: str) -> Source | None:
        if self._sources is None:
            # Set first: data that are not there are looked for once.
            self._sources = {}
            self._sources = dict(self._data_sources())
        if digest not in self._sources:
            derived = {ref.digest: ref.source for ref in self._derived_media(sample)}
            self._sources |= derived or self._generated_image(digest)
        return self._sources.get(digest)

    def _data_sources(self) -> Iterator[tuple[str, Source]]:
        try:
            self._benchmark = benchmark_with_data(self._run, self._moved)
        except UsageError as error:
            self._notify(str(error))
            return
        for row in self._benchmark.open():
            for ref in row.media:
                if ref.kind == "image":
                    yield ref.digest, ref.source

    def sample(self, sample_id: str) -> tuple[Sample, Sample] | None:
        """A sample as the data have it, and as it was asked; None if the data are not found."""
        with self._lock:
            try:
                if self._sources is None:
                    self._sources = {}
                    self._sources = dict(self._data_sources())
                sample = self._sample(sample_id)
                if sample is None or self._benchmark is None:
                    return None
                prepare = self._benchmark.prepare
                return sample, prepare(sample) if prepare else sample
            except (SnellenError, OSError):
                # The data were moved, or were never on this machine.
                return None

    def _sample(self, sample_id: str) -> Sample | None:
        if self._benchmark is None:
            return None
        if self._samples is None:
            samples = self._benchmark.samples(self._benchmark.open())
            self._samples = {each.id: each for each in samples}
        return self._samples.get(sample_id)

    def _derived_media(self, sample_id: str) -> tuple[MediaRef, ...]:
        """Media that were derived when the sample was asked: stitched, boxed, black, frames."""
        if self._benchmark is None or self._benchmark.prepare is None:
            return ()
        sample = self._sample(sample_id)
        return self._benchmark.prepare(sample).media if sample else ()

    def _generated_image(self, digest: str) -> dict[str, Source]:
        """An image that the model generated, from the store next to the run."""
        path = self._run.path.parent / STORE_FILE
        if not path.is_file():
            return {}
        with ResponseStore(path) as responses:
            data = responses.medium(digest)
        return {} if data is None else {digest: InlineSource(data)}


def content_type(data: bytes) -> str:
    """The media type of an image, by its first bytes."""
    for start, kind in _SIGNATURES:
        if data.startswith(start):
            return kind
    return "image/webp" if data[8:12] == b"WEBP" else "application/octet-stream"


_SIGNATURES = ((b"\xff\xd8", "image/jpeg"), (b"\x89PNG", "image/png"), (b"GIF8", "image/gif"), (b"BM", "image/bmp"))


def _shrink(data: bytes) -> bytes | None:
    try:
        return thumbnail(decode_image(data, max_image_pixels()))
    except SnellenError:
        return None
