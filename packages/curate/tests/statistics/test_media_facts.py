"""Headers of images: each format, large files of which only the beginning is read, broken ones."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from PIL import Image

from snellen.core.errors import MediaError
from snellen.core.media import FileSource, InlineSource
from snellen.core.sample import MediaRef
from snellen_curate.statistics import item_columns
from snellen_curate.statistics.item_columns import read_image_facts


def noise(width: int, height: int) -> Image.Image:
    """An image that no format makes small."""
    return Image.frombytes("RGB", (width, height), random.Random(0).randbytes(3 * width * height))


@pytest.mark.parametrize(
    ("suffix", "format"), [("png", "PNG"), ("jpg", "JPEG"), ("webp", "WEBP"), ("tiff", "TIFF"), ("gif", "GIF")]
)
def test_image_facts_of_every_format(tmp_path: Path, suffix: str, format: str) -> None:
    """Files of more than 64 kB: a WebP is read whole, and a TIFF has its header at the end."""
    path = tmp_path / f"image.{suffix}"
    noise(400, 300).save(path)
    size = path.stat().st_size
    assert size > 65_536
    assert read_image_facts(MediaRef("", FileSource(str(path)))) == (400, 300, format, size)
    data = path.read_bytes()
    assert read_image_facts(MediaRef("", InlineSource(data))) == (400, 300, format, size)


def test_only_the_beginning_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "long.png"
    noise(400, 300).save(path)
    monkeypatch.setattr(FileSource, "read", lambda self: pytest.fail("the whole file was read"))
    assert read_image_facts(MediaRef("", FileSource(str(path)))).width == 400


def test_stored_size_is_before_the_orientation(tmp_path: Path) -> None:
    image = noise(40, 20)
    exif = image.getexif()
    exif[0x0112] = 6
    image.save(tmp_path / "turned.jpg", exif=exif)
    facts = read_image_facts(MediaRef("", FileSource(str(tmp_path / "turned.jpg"))))
    assert (facts.width, facts.height) == (40, 20)


def test_unreadable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "broken.png").write_bytes(b"no image" * 10_000)
    with pytest.raises(MediaError, match="cannot be opened"):
        read_image_facts(MediaRef("", FileSource(str(tmp_path / "broken.png"))))
    with pytest.raises(MediaError, match="cannot read"):
        read_image_facts(MediaRef("", FileSource(str(tmp_path / "lost.png"))))
    noise(400, 300).save(tmp_path / "large.png")
    monkeypatch.setattr(item_columns, "max_image_pixels", lambda: 1_000)
    with pytest.raises(MediaError, match="400 x 300"):
        read_image_facts(MediaRef("", FileSource(str(tmp_path / "large.png"))))
