"""Pictures on their way into a request."""

from __future__ import annotations

import base64
import io
import random

import pytest
from asking_remote import ask, picture, question
from PIL import Image, ImageDraw
from standin_server import StandIn

from snellen.core.output import Generated
from snellen.core.place import Box, parse_space
from snellen.models.naming.registry import open_model
from snellen.models.remote import media
from snellen.models.remote.media import media_type


def received(server: StandIn, options: str, data: bytes) -> tuple[str, bytes]:
    """Media type and bytes as the server sees them."""
    ask(f"{server.url}#tiny{options}", question(data, "?"))
    url = server.asked[-1]["messages"][0]["content"][0]["image_url"]["url"]
    head, _, encoded = url.partition(",")
    return head.removeprefix("data:").removesuffix(";base64"), base64.b64decode(encoded)


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "WEBP", "GIF"])
def test_the_bytes_are_the_benchmarks_own(server: StandIn, kind: str) -> None:
    data = picture(kind=kind)
    assert received(server, "", data) == (f"image/{kind.lower()}", data)


@pytest.mark.parametrize("kind", ["BMP", "TIFF"])
def test_types_that_servers_refuse_are_sent_as_png(server: StandIn, kind: str) -> None:
    mime, data = received(server, "", picture(kind=kind))
    assert mime == "image/png"
    with Image.open(io.BytesIO(data)) as image, Image.open(io.BytesIO(picture())) as original:
        assert image.convert("RGB").tobytes() == original.convert("RGB").tobytes()


def test_pictures_are_shrunk_when_asked(server: StandIn) -> None:
    _, data = received(server, ":image_size=32", picture(size=(100, 50)))
    with Image.open(io.BytesIO(data)) as image:
        assert image.size == (32, 16)
    small = picture(size=(32, 30))
    assert received(server, ":image_size=32", small)[1] == small


def sizes(server: StandIn, options: str, *parts: bytes | str) -> tuple[tuple[int, int], ...]:
    [output] = ask(f"{server.url}#tiny{options}", question(*parts))
    assert isinstance(output, Generated)
    return output.image_sizes


def test_an_output_says_at_which_sizes_pictures_were_sent(server: StandIn) -> None:
    wide, tall, small = picture(size=(100, 50)), picture(size=(37, 111)), picture(size=(32, 30))
    assert sizes(server, ":image_size=32", wide, tall, small, "?") == ((32, 16), (11, 32), (32, 30))
    assert sizes(server, ":image_size=32,images=first", tall, wide, "?") == ((11, 32),)
    assert sizes(server, ":image_size=32", small, "?") == sizes(server, "", wide, tall, "?") == ()
    # Of another type as sent, but of its own size.
    assert sizes(server, "", picture(kind="BMP", size=(100, 50)), "?") == ()


def test_a_picture_that_is_sent_turned_has_its_upright_size(server: StandIn) -> None:
    exif, out = Image.Exif(), io.BytesIO()
    exif[0x0112] = 6
    Image.new("RGB", (30, 20)).save(out, "JPEG", exif=exif)
    assert sizes(server, ":image_size=32", picture(size=(100, 50)), out.getvalue(), "?") == ((32, 16), (20, 30))


def test_a_place_in_a_picture_as_sent_finds_its_way_back(server: StandIn) -> None:
    """What the server draws into the picture that it received is where it was in the original."""
    image = Image.new("RGB", (1200, 400), "white")
    ImageDraw.Draw(image).rectangle((600, 200, 899, 299), fill="red")
    out = io.BytesIO()
    image.save(out, "PNG")
    [sent] = sizes(server, ":image_size=300", out.getvalue(), "?")
    url = server.asked[-1]["messages"][0]["content"][0]["image_url"]["url"]
    with Image.open(io.BytesIO(base64.b64decode(url.partition(",")[2]))) as received_image:
        assert received_image.size == sent
        dark = received_image.convert("RGB").getchannel("G").point(lambda value: 255 * (value < 128))
        box = dark.getbbox()
    assert box is not None
    assert parse_space("sent-pixels").read_box(box, image.size, sent) == Box(600, 200, 900, 300)


def test_a_picture_that_many_ask_about_at_once_is_shrunk_once(server: StandIn, monkeypatch: pytest.MonkeyPatch) -> None:
    shrunk: list[int] = []
    real = media.resize_for_api

    def counted(data: bytes, edge: int | None, sendable: bool) -> media.ResizedImage:
        shrunk.append(len(data))
        return real(data, edge, sendable)

    monkeypatch.setattr(media, "resize_for_api", counted)
    data = picture(size=(100, 50))
    outputs = ask(f"{server.url}#tiny:image_size=32", *(question(data, f"{n}?") for n in range(6)))
    assert len(outputs) == len(server.asked) == 6
    assert shrunk == [len(data)]


def test_a_large_picture_and_a_long_line_of_a_stream(server: StandIn) -> None:
    noise = Image.frombytes("RGB", (800, 800), random.Random(0).randbytes(800 * 800 * 3))
    out = io.BytesIO()
    noise.save(out, "PNG")
    assert received(server, "", out.getvalue()) == ("image/png", out.getvalue())
    long = "x" * 500_000
    server.says(b'data: {"choices":[{"delta":{"content":"%b"},"finish_reason":"stop"}]}\n\n' % long.encode())
    [output] = ask(f"{server.url}#tiny:stream=yes", question("?"))
    assert getattr(output, "text", "") == long


def test_the_size_is_part_of_the_identity() -> None:
    model = open_model("http://127.0.0.1:1/v1#x:image_size=32")
    assert model.identity.facts == {"image_size": "32"}


def test_images_keep_their_positions(server: StandIn) -> None:
    red, blue = picture("red"), picture("blue")
    ask(f"{server.url}#tiny", question("a\0b", red, blue, "\\u0000 \0", red))
    parts = server.asked[-1]["messages"][0]["content"]
    urls = [f"data:image/png;base64,{base64.b64encode(one).decode()}" for one in (red, blue, red)]
    assert [part["image_url"]["url"] for part in parts if "image_url" in part] == urls
    assert [part["text"] for part in parts if "text" in part] == ["a\0b", "\\u0000 \0"]


def test_cache_of_prepared_images_is_bounded(server: StandIn, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(media, "LIMIT", 100)
    red, blue = question(picture("red"), "?"), question(picture("blue"), "?")
    ask(f"{server.url}#tiny", red, blue, red)
    assert server.asked[0] == server.asked[2] != server.asked[1]


@pytest.mark.parametrize(
    ("data", "mime"),
    [
        (b"\x00\x00\x00\x18ftypmp42", "video/mp4"),
        (b"\x00\x00\x00\x18ftypheic", "image/heic"),
        (b"\x1aE\xdf\xa3....", "video/webm"),
        (b"RIFF....AVI LIST", "video/x-msvideo"),
        (b"RIFF....WAVEfmt ", "audio/wav"),
        (b"", "application/octet-stream"),
    ],
)
def test_media_types(data: bytes, mime: str) -> None:
    assert media_type(data) == mime
