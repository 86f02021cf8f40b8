"""A request offers its text, images and videos to models of one's own."""

from __future__ import annotations

import io

import pytest
from PIL import Image

from snellen.core.errors import MediaError
from snellen.core.media import InlineSource, digest_bytes
from snellen.core.request import Compare, Generate, Media, Message, Rank, Ref, Text, user
from snellen.models.image_cache import ImageCache

REF = Ref("1")


def encoded(image: Image.Image, form: str, **how: object) -> bytes:
    out = io.BytesIO()
    image.save(out, form, **how)  # type: ignore[arg-type]
    return out.getvalue()


def rotated_photograph() -> bytes:
    """A JPEG of 6 x 4 pixels that its EXIF orientation turns upright to 4 x 6."""
    exif = Image.Exif()
    exif[0x0112] = 6
    return encoded(Image.new("RGB", (6, 4), "red"), "JPEG", exif=exif)


GREY = encoded(Image.new("L", (3, 2), 128), "PNG")
CLEAR = encoded(Image.new("RGBA", (2, 2), (0, 255, 0, 255)), "PNG")
PHOTOGRAPH = rotated_photograph()
DATA = {digest_bytes(data): InlineSource(data) for data in (GREY, CLEAR, PHOTOGRAPH, b"film")}
GREY_IMAGE, CLEAR_IMAGE, PHOTO_IMAGE = (Media("image", digest_bytes(data)) for data in (GREY, CLEAR, PHOTOGRAPH))
FILM = Media("video", digest_bytes(b"film"))
MESSAGES = (
    Message("system", (Text("Be short."),)),
    user(GREY_IMAGE, Text("Which?"), PHOTO_IMAGE, FILM),
    user(CLEAR_IMAGE, Text("A. red"), Text("B. green")),
)


def test_images_are_those_that_the_backends_decode() -> None:
    request = Generate(messages=MESSAGES, ref=REF, media=DATA)
    images = request.images()
    assert [(image.mode, image.size) for image in images] == [("RGB", (3, 2)), ("RGB", (4, 6)), ("RGB", (2, 2))]
    parts = (GREY_IMAGE, PHOTO_IMAGE, CLEAR_IMAGE)
    cached = [ImageCache().get(part.digest, DATA) for part in parts]
    assert [image.tobytes() for image in images] == [image.tobytes() for image in cached]


def test_text_is_that_of_all_messages_and_videos_are_bytes() -> None:
    request = Rank(messages=MESSAGES, ref=REF, candidates=("A", "B"), media=DATA)
    assert request.text() == "Be short.\nWhich?\nA. red\nB. green"
    assert request.videos() == [b"film"]


def test_a_comparison_has_images_and_no_text() -> None:
    request = Compare(picture=GREY_IMAGE.digest, candidates=(CLEAR_IMAGE.digest,), ref=REF, media=DATA)
    assert [image.size for image in request.images()] == [(3, 2), (2, 2)]
    assert request.text() == ""


@pytest.mark.parametrize(
    ("media", "sentence"), [({}, "did not come with the request"), ({GREY_IMAGE.digest: InlineSource(b"?")}, "no PNG")]
)
def test_an_image_that_is_missing_or_damaged(media: dict[str, InlineSource], sentence: str) -> None:
    request = Generate(messages=(user(GREY_IMAGE),), ref=REF, media=media)
    with pytest.raises(MediaError, match=sentence):
        request.images()
