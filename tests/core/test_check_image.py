"""Checks of images before they are sent: damaged, cut short, too large or no image at all."""

from __future__ import annotations

import io
import random
import zlib

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from snellen.core.errors import MediaError
from snellen.core.media import check_image, decode_image, has_end_marker, image_size


def encoded(kind: str, mode: str = "RGB", size: tuple[int, int] = (9, 7), **how: object) -> bytes:
    out = io.BytesIO()
    Image.linear_gradient("L").resize(size).convert(mode).save(out, kind, **how)
    return out.getvalue()


PNG = encoded("PNG")
JPEG = encoded("JPEG")
IMAGES = {
    "png": PNG,
    "png with a palette": encoded("PNG", "P"),
    "png of one bit": encoded("PNG", "1"),
    "png with alpha": encoded("PNG", "RGBA"),
    "png of 16 bits": encoded("PNG", "I;16"),
    "png with chunks before its data": encoded("PNG", dpi=(300, 300), icc_profile=b"x" * 500),
    "jpeg": JPEG,
    "grey jpeg": encoded("JPEG", "L"),
    "cmyk jpeg": encoded("JPEG", "CMYK"),
    "progressive jpeg": encoded("JPEG", progressive=True),
    "jpeg with a profile": encoded("JPEG", icc_profile=b"x" * 70_000, comment=b"hello"),
}


def decodes(data: bytes) -> bool:
    try:
        decode_image(data)
    except MediaError:
        return False
    return True


def complaint_about(data: bytes) -> str:
    try:
        check_image(data)
    except MediaError as error:
        return str(error)
    return ""


def png_of(width: int, height: int, depth: int = 8, colour: int = 2) -> bytes:
    """A sound PNG header of that size, with the beginning of its data."""
    head = b"IHDR" + width.to_bytes(4, "big") + height.to_bytes(4, "big")
    head += bytes((depth, colour, 0, 0, 0))
    chunk = (13).to_bytes(4, "big") + head + zlib.crc32(head).to_bytes(4, "big")
    return b"\x89PNG\r\n\x1a\n" + chunk + b"\x00\x00\x00\x04IDAT" + bytes(8)


@pytest.mark.parametrize("name", IMAGES)
def test_sound_images_pass(name: str) -> None:
    assert has_end_marker(IMAGES[name])
    assert complaint_about(IMAGES[name]) == ""


@pytest.mark.parametrize("name", IMAGES)
def test_an_image_cut_anywhere_passes_only_if_it_can_be_decoded(name: str) -> None:
    data = IMAGES[name]
    cuts = [*range(0, len(data), 1 + len(data) // 100), *range(len(data) - 40, len(data))]
    passing = [cut for cut in cuts if complaint_about(data[:cut]) == ""]
    assert all(decodes(data[:cut]) for cut in passing)


@pytest.mark.parametrize(("width", "height"), [(0, 5), (5, 0), (2**20, 2**20), (2**31 - 1, 2**31 - 1)])
def test_an_impossible_size_is_refused(width: int, height: int) -> None:
    assert complaint_about(png_of(width, height)) != ""


def test_a_jpeg_of_huge_size_is_refused() -> None:
    size_offset = JPEG.index(b"\xff\xc0") + 5
    huge = JPEG[:size_offset] + b"\xff\xff\xff\xff" + JPEG[size_offset + 4 :]
    assert "pixels" in complaint_about(huge)


def test_a_bomb_is_refused() -> None:
    with pytest.raises(MediaError, match=r"1,048,576 x 1,048,576 pixels.*SNELLEN_MAX_MEGAPIXELS"):
        check_image(png_of(2**20, 2**20))


@pytest.mark.parametrize("most", [62, 63])
@pytest.mark.parametrize("kind", ["PNG", "JPEG", "WEBP", "GIF", "BMP", "TIFF"])
def test_a_picture_has_at_most_so_many_pixels(kind: str, most: int) -> None:
    data = encoded(kind)
    for read in (check_image, decode_image, image_size):
        if most == 63:
            read(data, most)
        else:
            with pytest.raises(MediaError, match="9 x 7 pixels"):
                read(data, most)


def test_the_limit_may_be_above_the_one_of_the_library(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 20)
    assert decode_image(encoded("GIF", "P")).size == (9, 7)
    assert Image.MAX_IMAGE_PIXELS == 20


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "WEBP", "GIF", "BMP", "TIFF"])
@pytest.mark.parametrize("share", [0.4, 0.6, 0.9, 0.99])
def test_a_picture_cut_short_fails_for_servers_as_for_local_models(kind: str, share: float) -> None:
    whole = encoded(kind, size=(90, 70))
    data = whole[: round(len(whole) * share)]
    verdicts = []
    for read in (check_image, decode_image):
        try:
            read(data)
            verdicts.append("fine")
        except MediaError:
            verdicts.append("broken")
    assert verdicts[0] == verdicts[1]
    check_image(whole)
    if kind in ("PNG", "JPEG", "WEBP", "BMP"):
        assert verdicts == ["broken", "broken"] or share == 0.99


def test_a_jpeg_whose_thumbnail_ends_is_not_whole_for_that() -> None:
    small = encoded("JPEG", size=(8, 8))
    whole = encoded("JPEG", size=(90, 70), comment=small)
    assert small.endswith(b"\xff\xd9")
    assert has_end_marker(whole)
    assert not has_end_marker(whole[:-2])
    assert not has_end_marker(whole[: whole.index(small) + len(small)])


@pytest.mark.parametrize("name", [name for name in IMAGES if "jpeg" in name])
def test_a_jpeg_that_passes_by_its_segments_can_be_opened(name: str) -> None:
    draw, passed = random.Random(name), 0
    head = IMAGES[name].index(b"\xff\xda") + 14
    for _ in range(400):
        data = bytearray(IMAGES[name])
        for _ in range(draw.randint(1, 3)):
            place = draw.choice((draw.randrange(2, 60), draw.randrange(2, head)))
            new = draw.choice((b"", b"\0", b"\xff", b"\xdb", b"\xe2", b"\xc0", draw.randbytes(2)))
            data[place : place + 1] = new
        if complaint_about(bytes(data)) == "":
            passed += 1
            with Image.open(io.BytesIO(data)) as opened:
                assert min(opened.size) > 0
    assert 20 < passed < 400


@pytest.mark.parametrize("kind", ["EPS", "PDF", "ICO", "PCX", "TGA", "SGI"])
def test_formats_outside_the_list_are_not_opened(kind: str) -> None:
    data = encoded(kind)
    for read in (check_image, decode_image, image_size):
        with pytest.raises(MediaError, match="no PNG, JPEG, WebP"):
            read(data)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\xff\xd8\xff",
        b"\xff\xd8\xff\xd9",
        b"\xff\xd8\xff\xe0\x00\x00" + bytes(50),
        PNG[:33],
        b"\x89PNG\r\n\x1a\n",
        b"<html>no such file</html>",
        PNG[:29] + b"\0\0\0\0" + PNG[33:],
        png_of(5, 5, depth=3),
        png_of(5, 5, colour=5),
        b"%PDF-1.7\n",
    ],
)
def test_refuses_data_that_is_not_an_image(data: bytes) -> None:
    with pytest.raises(MediaError, match="the image cannot be opened"):
        check_image(data)


@pytest.mark.parametrize("kind", ["GIF", "WEBP", "BMP", "TIFF"])
def test_other_kinds_are_opened(kind: str) -> None:
    data = encoded(kind)
    check_image(data)


@given(st.sampled_from([b"", PNG[:8], PNG[:16], JPEG[:3], JPEG[:4]]), st.binary(max_size=300))
@settings(deadline=None)
def test_check_image_handles_any_bytes(head: bytes, tail: bytes) -> None:
    assert has_end_marker(head + tail) in (True, False)
    complaint = complaint_about(head + tail)
    assert complaint == "" or complaint.startswith("the image")


@given(st.sampled_from(sorted(IMAGES)), st.lists(st.tuples(st.floats(0, 1), st.integers(0, 255)), max_size=4))
@settings(deadline=None)
def test_a_damaged_picture_is_refused_with_a_sentence_or_taken(name: str, damage: list[tuple[float, int]]) -> None:
    data = bytearray(IMAGES[name])
    for place, value in damage:
        data[int(place * (len(data) - 1))] = value
    complaint = complaint_about(bytes(data))
    assert complaint == "" or complaint.startswith("the image cannot be opened")


@pytest.mark.parametrize(("format", "kind"), [("PNG", "<u2"), ("TIFF", "<u2"), ("TIFF", ">u2")])
def test_grey_values_of_16_bits_are_scaled_and_not_cut_off(format: str, kind: str) -> None:
    values = (np.arange(16, dtype=np.uint16) * 4096 + 100).reshape(4, 4)
    data = io.BytesIO()
    Image.fromarray(values.astype(kind)).save(data, format)
    decoded = np.asarray(decode_image(data.getvalue()))
    assert decoded.shape == (4, 4, 3)
    assert np.abs(decoded[:, :, 0] - values / 257).max() <= 1
    # Were they cut off at 255, all but the first would be white.
    assert len(np.unique(decoded)) == 16
