"""Hashes are those of imagehash, bit by bit, and survive what they should survive."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import imagehash
import numpy as np
import pytest
from drawn_scenes import CHANGES, draw_card, draw_scene, jpeg, png
from PIL import Image

from snellen.core.errors import UsageError
from snellen.core.media import FileSource, InlineSource, decode_image
from snellen_curate.duplicates.hash_index import hamming
from snellen_curate.duplicates.hashing import open_hasher
from snellen_curate.duplicates.image_hashes import TURNS, ImageHash, UnreadableImage, hash_from_cell, hash_images
from snellen_curate.duplicates.image_rule import likeness, turn_copies

Transpose = Image.Transpose
WAYS = (
    None,
    Transpose.FLIP_LEFT_RIGHT,
    Transpose.FLIP_TOP_BOTTOM,
    Transpose.ROTATE_180,
    Transpose.TRANSPOSE,
    Transpose.ROTATE_270,
    Transpose.ROTATE_90,
    Transpose.TRANSVERSE,
)
"""Pillow's name of each of the eight ways, in the order of `turned`."""


def hash_one(data: bytes) -> ImageHash:
    (found,) = hash_images([InlineSource(data)])
    assert isinstance(found, ImageHash)
    return found


def test_hashes_equal_those_of_imagehash() -> None:
    images = [jpeg(draw_scene(seed)) for seed in range(80)]
    images += [png(draw_scene(seed)) for seed in range(80, 100)]
    images += [jpeg(draw_card(seed)) for seed in range(40)]
    images += [
        png(draw_scene(200).convert("L")),
        png(draw_scene(201).convert("RGBA")),
        png(draw_scene(202).quantize(64)),
    ]
    found = hash_images([InlineSource(data) for data in images])
    for data, ours in zip(images, found, strict=True):
        image = decode_image(data)
        assert isinstance(ours, ImageHash)
        assert f"{ours.phash:016x}" == str(imagehash.phash(image))
        assert f"{ours.dhash:016x}" == str(imagehash.dhash(image))


def test_coefficients_that_equal_the_median_are_zero_bits() -> None:
    """A picture that is its own mirror image: half of the coefficients are 0 but for rounding, and
    imagehash's bits are those of the rounding errors."""
    half = np.asarray(draw_scene(3, (64, 64)))
    image = Image.fromarray(np.concatenate([half, half[:, ::-1]], axis=1))
    ours = hash_one(png(image))
    assert ours.phash.bit_count() <= 32
    assert ours.turned[1] == ours.phash


@pytest.mark.parametrize("way", range(TURNS))
def test_turned_hashes_are_those_of_turned_images(way: int) -> None:
    for seed in range(10):
        image = draw_scene(seed)
        method = WAYS[way]
        turned = image if method is None else image.transpose(method)
        original, actual = hash_one(png(image)), hash_one(png(turned))
        assert (original.turned[way] ^ actual.phash).bit_count() <= 4
        copy = turn_copies(original.small_copy[None], way)
        assert likeness(copy, actual.small_copy[None])[0] > 0.99


@pytest.mark.parametrize(
    ("change", "most"),
    [
        ("as PNG", 0),
        ("half the size", 4),
        ("twice the size", 2),
        ("JPEG, quality 20", 6),
        ("brightness x 0.7", 6),
        ("without colour", 0),
        ("cropped by 3 %", 12),
    ],
)
def test_copies_have_near_hashes(change: str, most: int) -> None:
    for seed in range(12):
        image = draw_scene(seed)
        one, other = hash_one(png(image)), hash_one(png(CHANGES[change](image)))
        assert (one.phash ^ other.phash).bit_count() <= most
        assert likeness(one.small_copy[None], other.small_copy[None])[0] > 0.95


def test_digests_of_bytes_and_of_pixels() -> None:
    image = draw_scene(5)
    as_png, as_bmp = hash_one(png(image)), hash_one(_bmp(image))
    assert as_png.sha256 != as_bmp.sha256
    assert as_png.pixels == as_bmp.pixels
    assert as_png.pixels != hash_one(png(image.transpose(Transpose.ROTATE_90))).pixels


def _bmp(image: Image.Image) -> bytes:
    import io

    data = io.BytesIO()
    image.save(data, "BMP")
    return data.getvalue()


def test_a_broken_image_is_recorded_and_the_others_go_on(tmp_path: Path) -> None:
    whole = jpeg(draw_scene(1))
    sources = [
        InlineSource(whole),
        InlineSource(b"no picture"),
        FileSource(str(tmp_path / "none.jpg")),
        InlineSource(whole[:200]),
        InlineSource(whole),
    ]
    found = hash_images(sources)
    assert [isinstance(one, UnreadableImage) for one in found] == [False, True, True, True, False]
    assert "no PNG, JPEG" in str(found[1])
    assert "cannot read" in str(found[2])
    assert hash_images(sources[1:2]) == [found[1]]
    assert hash_images([]) == []


def test_processes_give_the_same_in_the_same_order() -> None:
    sources = [InlineSource(jpeg(draw_scene(seed, (48, 40)))) for seed in range(230)]
    sources[7] = InlineSource(b"broken")
    with open_hasher(2) as hasher:
        parallel = list(hasher(sources))
    with open_hasher(1) as hasher:
        alone = list(hasher(iter(sources)))
    assert [str(one) for one in parallel] == [str(one) for one in alone]
    assert isinstance(parallel[7], UnreadableImage)


def test_a_process_imports_what_hashing_needs_alone() -> None:
    # A process is started with a function of the file that `open_hasher` is in.
    program = f"import sys, {open_hasher.__module__}; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout.split()
    assert "numpy" in loaded
    assert not {"pyarrow", "rapidfuzz", "filelock"} & set(loaded)


def test_contrast_of_a_blank_image_is_zero() -> None:
    assert hash_one(png(Image.new("RGB", (50, 50), "white"))).contrast == 0


def test_likeness_compares_grey_images_by_brightness() -> None:
    image = draw_scene(9)
    grey = np.asarray(image.convert("L").convert("RGB").resize((16, 16)))[None]
    colour = np.asarray(image.resize((16, 16)))[None]
    assert likeness(colour, grey)[0] > 0.97
    other = np.asarray(draw_scene(10).resize((16, 16)))[None]
    assert likeness(colour, other)[0] < 0.8
    flat = np.full((1, 16, 16, 3), 7, np.uint8)
    assert likeness(flat, flat)[0] == 0


@pytest.mark.parametrize(
    ("cell", "value"),
    [
        ("8000000000000001", 0x8000000000000001),
        (" ffffffffffffffff ", 0xFFFFFFFFFFFFFFFF),
        (-1, 0xFFFFFFFFFFFFFFFF),
        (5, 5),
        (b"\0\0\0\0\0\0\1\0", 256),
    ],
)
def test_hashes_of_manifests(cell: object, value: int) -> None:
    assert hash_from_cell(cell) == value


@pytest.mark.parametrize("cell", ["", "xyz", "80000000000000011", 1 << 64, b"123", 1.5, None])
def test_refuses_invalid_hashes(cell: object) -> None:
    with pytest.raises(UsageError, match="expected 16 hex digits"):
        hash_from_cell(cell)


def test_hamming_counts_bits() -> None:
    one = np.array([0, 1, 0xFFFFFFFFFFFFFFFF], np.uint64)
    assert hamming(one, np.zeros(3, np.uint64)).tolist() == [0, 1, 64]
