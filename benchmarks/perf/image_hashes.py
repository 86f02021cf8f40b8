"""Hashing pictures and finding hashes, beside imagehash one by one."""

from __future__ import annotations

import io
import os
import random
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from benchmarks.perf.figures import Part, Size, figure, profiled, seconds

from snellen.core.media import FileSource, decode_image
from snellen_curate.duplicates.build_index import SHARD_SIZE
from snellen_curate.duplicates.hash_index import compare_hashes
from snellen_curate.duplicates.hashing import open_hasher
from snellen_curate.duplicates.image_hashes import hash_images

METHOD = (
    "JPEG pictures of 320 x 240 pixels with smooth colours and noise. imagehash computes pHash and "
    "dHash of each decoded picture. Snellen computes the same hashes, and SHA-256 of bytes and "
    "pixels and a small copy, with the transforms of many pictures at once; decoding is most of "
    "the time of both. A look-up finds every stored hash within 8 of 64 bits of a query: imagehash "
    "subtracts one pair at a time (timed on a sample of pairs), Snellen compares 64 bits at once. "
    "Times of a look-up are for one query on one core."
)
_IMAGES = 48
"""Different pictures; the files are copies of them."""
_RADIUS = 8
_SAMPLE = 2_000
"""Pairs that imagehash subtracts."""


def measure(size: Size) -> Part:
    count, stored = min(4_000, size.samples), size.samples * 100
    with tempfile.TemporaryDirectory(prefix="snellen-perf-") as name:
        files = write_images(Path(name), count)
        sources = [FileSource(str(file)) for file in files]
        repeats = range(min(size.repeats, 3))
        decoding, reference, alone, spread = [], [], [], []
        for _ in repeats:
            decoding.append(seconds(lambda: decode_all(files)))
            reference.append(seconds(lambda: imagehash_all(files)))
            alone.append(seconds(lambda: hash_images(sources)))
            with open_hasher() as hasher:
                # Processes start once for millions of pictures.
                list(hasher(sources[:200]))
                spread.append(seconds(lambda hasher=hasher: list(hasher(sources))))
        limits = profiled(lambda: hash_images(sources[: count // 4]))
    pairs, look_up = look_ups(stored, len(repeats))
    every = "imagehash, one by one"
    pair = "look-up: imagehash, pair by pair"
    figures = (
        figure("decoding alone", "s", decoding, reference=every, against=reference),
        figure(every, "s", reference),
        figure("Snellen, one process", "s", alone, reference=every, against=reference),
        figure(f"Snellen, {os.cpu_count()} processes", "s", spread, reference=every, against=reference),
        figure("Snellen, pictures in a second", "1/s", [count / one for one in spread]),
        figure(pair, "ms", pairs),
        figure("look-up: Snellen", "ms", look_up, reference=pair, against=pairs),
        figure(
            "look-up: Snellen, times as fast as imagehash",
            "x",
            [one / other for one, other in zip(pairs, look_up, strict=True)],
        ),
    )
    title = f"Hashing {count:,} pictures, and looking up among {stored:,} hashes"
    return Part("hashes", title, METHOD, figures, limits)


def write_images(folder: Path, count: int) -> list[Path]:
    contents = [image(seed) for seed in range(_IMAGES)]
    files = []
    for number in range(count):
        files.append(folder / f"{number}.jpg")
        files[-1].write_bytes(contents[number % _IMAGES])
    return files


def image(seed: int) -> bytes:
    from PIL import Image

    draw = random.Random(seed)
    coarse = Image.frombytes("RGB", (16, 12), draw.randbytes(16 * 12 * 3))
    smooth = coarse.resize((320, 240), Image.Resampling.BICUBIC)
    noise = Image.frombytes("RGB", (320, 240), draw.randbytes(320 * 240 * 3))
    data = io.BytesIO()
    Image.blend(smooth, noise, 0.05).save(data, "JPEG", quality=85)
    return data.getvalue()


def decode_all(files: Sequence[Path]) -> None:
    for file in files:
        decode_image(file.read_bytes())


def imagehash_all(files: Sequence[Path]) -> None:
    import imagehash

    for file in files:
        image = decode_image(file.read_bytes())
        imagehash.phash(image)
        imagehash.dhash(image)


def look_ups(stored: int, repeats: int) -> tuple[list[float], list[float]]:
    """Milliseconds a query: imagehash pair by pair, and Snellen."""
    import imagehash

    draw = np.random.default_rng(0)
    hashes = draw.integers(0, 1 << 64, stored, dtype=np.uint64)
    queries = hashes[draw.integers(0, stored, 20)] ^ np.uint64(0b10110)
    objects = [imagehash.hex_to_hash(f"{int(one):016x}") for one in hashes[:_SAMPLE]]
    query = imagehash.hex_to_hash(f"{int(queries[0]):016x}")
    shards = np.array_split(hashes, len(hashes) // SHARD_SIZE + 1)
    pairs, look_up = [], []
    for _ in range(repeats):
        taken = seconds(lambda: [query - one <= _RADIUS for one in objects])
        pairs.append(1e3 * taken * stored / _SAMPLE)
        taken = seconds(lambda: [compare_hashes(queries, one, _RADIUS) for one in shards])
        look_up.append(1e3 * taken / len(queries))
    return pairs, look_up
