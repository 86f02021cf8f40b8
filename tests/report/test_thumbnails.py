import io
import os

import pytest
from PIL import Image
from synthetic import picture

from snellen.core.media import FileSource, InlineSource, digest_bytes
from snellen.report.page.thumbnails import MAX_BYTES, MAX_SIDE, read_thumbnail, write_thumbnails


def noise(width: int, height: int) -> bytes:
    data = io.BytesIO()
    Image.frombytes("RGB", (width, height), os.urandom(3 * width * height)).save(data, "PNG")
    return data.getvalue()


def test_hard_pictures_fit_and_small_ones_keep_their_size(tmp_path):
    hard, small = noise(900, 500), picture(1, 64)
    wanted = [(digest_bytes(each), InlineSource(each)) for each in (hard, small)]
    assert write_thumbnails(tmp_path, wanted) == 2
    sizes = {}
    for path in (tmp_path / "media").iterdir():
        assert path.stat().st_size <= MAX_BYTES
        with Image.open(path) as image:
            assert image.format == "JPEG"
            sizes[path.stem] = image.size
    assert max(sizes[digest_bytes(hard)]) <= MAX_SIDE
    assert sizes[digest_bytes(small)] == (64, 64)


def test_existing_ones_stay_and_unreadable_ones_are_left_out(tmp_path):
    data = picture(1)
    digest = digest_bytes(data)
    (tmp_path / "media").mkdir()
    kept = tmp_path / "media" / f"{digest}.jpg"
    kept.write_bytes(b"kept")
    wanted = [
        (digest, InlineSource(data)),
        ("0" * 64, InlineSource(b"no picture")),
        ("1" * 64, FileSource(str(tmp_path / "gone.png"))),
        ("../outside", InlineSource(data)),
    ]
    assert write_thumbnails(tmp_path, wanted) == 0
    assert kept.read_bytes() == b"kept"
    assert [path.name for path in tmp_path.rglob("*.jpg")] == [kept.name]


@pytest.mark.parametrize("kind", ["link", "text", "pipe", "folder", "long", "name"])
def test_only_pictures_of_a_run_folder_are_read(tmp_path, kind):
    secret = tmp_path / "private"
    secret.write_bytes(picture(1) if kind == "link" else b"a private file")
    digest = "0" * 64
    path = tmp_path / "run" / "media" / f"{digest}.jpg"
    path.parent.mkdir(parents=True)
    if kind == "link":
        jpeg = io.BytesIO()
        Image.new("RGB", (4, 4)).save(jpeg, "JPEG")
        secret.write_bytes(jpeg.getvalue())
        path.symlink_to(secret)
    elif kind == "text":
        path.write_bytes(b"a private file")
    elif kind == "pipe":
        os.mkfifo(path)
    elif kind == "folder":
        path.mkdir()
    elif kind == "long":
        path.write_bytes(b"\xff\xd8\xff" + bytes(2 << 20))
    else:
        digest = "../../private"
    assert read_thumbnail(tmp_path / "run", digest) is None


def test_a_thumbnail_is_read(tmp_path):
    data = picture(3)
    digest = digest_bytes(data)
    assert write_thumbnails(tmp_path, [(digest, InlineSource(data))]) == 1
    kept = read_thumbnail(tmp_path, digest)
    assert kept == (tmp_path / "media" / f"{digest}.jpg").read_bytes()
    assert read_thumbnail(tmp_path, "1" * 64) is None
