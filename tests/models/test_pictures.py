from __future__ import annotations

from dataclasses import dataclass, field

import pytest
from questions_for_models import noise

from snellen.core.errors import MediaError
from snellen.core.media import InlineSource
from snellen.models.image_cache import ImageCache


@dataclass
class Counted:
    """A source that counts how often it is read."""

    data: bytes
    reads: list[int] = field(default_factory=list)

    def read(self) -> bytes:
        self.reads.append(1)
        return self.data


def test_a_picture_is_read_once_and_the_oldest_leaves_first() -> None:
    sources = {name: Counted(noise(seed, 10, 10)) for seed, name in enumerate("abc")}
    cache = ImageCache(max_pixels=200)
    for name in ("a", "b", "a", "c", "a", "b"):
        cache.get(name, sources)
    # b left when c came, since a had been asked for after it.
    assert {name: len(source.reads) for name, source in sources.items()} == {"a": 1, "b": 2, "c": 1}


def test_a_picture_larger_than_the_cache_is_still_given() -> None:
    cache = ImageCache(max_pixels=10)
    assert cache.get("a", {"a": InlineSource(noise(1, 40, 30))}).size == (40, 30)


def test_bytes_that_did_not_come_with_the_request() -> None:
    with pytest.raises(MediaError, match="did not come with the request"):
        ImageCache().get("0" * 64, {})
