"""Headers of pictures, beside what an image library makes of the same bytes."""

from __future__ import annotations

import io
import zlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from snellen.core.errors import MediaError
from snellen.core.image_headers import has_end_marker, has_valid_header
from snellen.core.media import check_image, decode_image, image_size


def encoded(kind: str, mode: str = "RGB", size: tuple[int, int] = (9, 7), **how: object) -> bytes:
    out = io.BytesIO()
    Image.linear_gradient("L").resize(size).convert(mode).save(out, kind, **how)
    return out.getvalue()


PNG = encoded("PNG")
JPEG = encoded("JPEG")
PICTURES = {
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


def opened(data: bytes) -> bool:
    try:
        with Image.open(io.BytesIO(data)):
            return True
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError):
        return False


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


@pytest.mark.parametrize("name", PICTURES)
def test_sound_pictures_need_not_be_opened(name: str) -> None:
    assert has_valid_header(PICTURES[name])


@pytest.mark.parametrize("name", PICTURES)
def test_a_picture_cut_anywhere_is_vouched_for_only_if_it_opens(name: str) -> None:
    data = PICTURES[name]
    cuts = [*range(0, len(data), 1 + len(data) // 400), *range(len(data) - 40, len(data))]
    vouched = [cut for cut in cuts if has_valid_header(data[:cut])]
    assert all(opened(data[:cut]) for cut in vouched)
    assert vouched
    assert min(vouched) > 20


@pytest.mark.parametrize(
    ("width", "height", "fine"),
    [(1, 1, True), (7000, 7000, True), (8000, 8000, False), (0, 5, False), (5, 0, False),
     (2**31 - 1, 2**31 - 1, False)],
)  # fmt: skip
def test_a_size_that_is_no_size_has_to_be_looked_at(width: int, height: int, fine: bool) -> None:
    assert has_valid_header(png_of(width, height)) is fine


def test_a_jpeg_of_huge_size_has_to_be_looked_at() -> None:
    at = JPEG.index(b"\xff\xc0") + 5
    assert has_valid_header(JPEG[:at] + b"\x00\x10\x00\x10" + JPEG[at + 4 :])
    assert not has_valid_header(JPEG[:at] + b"\xff\xff\xff\xff" + JPEG[at + 4 :])
    assert not has_valid_header(JPEG[:at] + b"\x00\x00\x00\x10" + JPEG[at + 4 :])


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
def test_what_is_no_picture_is_refused(data: bytes) -> None:
    assert not has_valid_header(data)
    with pytest.raises(MediaError, match="the image cannot be opened"):
        check_image(data)


@pytest.mark.parametrize("kind", ["GIF", "WEBP", "BMP", "TIFF"])
def test_other_kinds_are_opened(kind: str) -> None:
    data = encoded(kind)
    assert not has_valid_header(data)
    check_image(data)


@given(st.sampled_from([b"", PNG[:8], PNG[:16], JPEG[:3], JPEG[:4]]), st.binary(max_size=300))
@settings(deadline=None)
def test_no_bytes_break_it(head: bytes, tail: bytes) -> None:
    assert has_valid_header(head + tail) in (True, False)


@given(
    st.sampled_from(sorted(PICTURES)),
    st.lists(st.tuples(st.floats(0, 1), st.integers(0, 255)), max_size=4),
)
@settings(deadline=None)
def test_a_damaged_picture_is_refused_with_a_sentence_or_taken(
    name: str, damage: list[tuple[float, int]]
) -> None:
    data = bytearray(PICTURES[name])
    for place, value in damage:
        data[int(place * (len(data) - 1))] = value
    complaint = complaint_about(bytes(data))
    assert complaint == "" or complaint.startswith("the image cannot be opened")
