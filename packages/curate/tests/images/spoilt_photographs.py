"""Photographs and spoilt copies of them, and what `snellen curate pictures` says of their quality.

    python packages/curate/tests/images/spoilt_photographs.py FOLDER [--seed N]

FOLDER is a checkout with photographs, such as EliSchwartz/imagenet-sample-images (seed 1) or
lightly-ai/coco128_yolo (seed 2). Prints the digest of the photographs, and for each of nine kinds
of spoilt copy, 50 of each, how many are named by that kind: the table of docs/curate/evidence.md.
"""

from __future__ import annotations

import argparse
import hashlib
import io
from collections import Counter
from pathlib import Path
from random import Random

import numpy as np
from PIL import Image, ImageFilter

from snellen.core.errors import MediaError
from snellen.core.media import decode_image
from snellen_curate.images.quality import measure_quality

COPIES = 50
KINDS = {
    "out of focus": "blurred",
    "moved": "blurred",
    "enlarged": "blurred",
    "dark": "dark",
    "bleached": "bleached",
    "empty": "empty",
    "small": "odd-size",
    "strip": "odd-size",
}
PilImage = Image.Image


def move(image: PilImage, pixels: int, axis: int) -> PilImage:
    """The mean over a path of so many pixels along an axis."""
    values = np.asarray(image).astype(float)
    margin = [(pixels, 0) if each == axis else (0, 0) for each in range(3)]
    total = np.cumsum(np.pad(values, margin, mode="edge"), axis=axis)
    length = total.shape[axis]
    ends = np.take(total, range(pixels, length), axis=axis)
    starts = np.take(total, range(length - pixels), axis=axis)
    return Image.fromarray(((ends - starts) / pixels).clip(0, 255).astype(np.uint8))


def spoil(change: str, image: PilImage, draw: Random) -> PilImage:
    width, height = image.size
    longer = max(width, height)
    if change == "out of focus":
        return image.filter(ImageFilter.GaussianBlur(draw.uniform(0.006, 0.02) * longer))
    if change == "moved":
        return move(image, int(draw.uniform(0.02, 0.06) * longer), draw.randrange(2))
    if change == "enlarged":
        share = draw.uniform(0.1, 0.2)
        small = image.resize((max(1, int(width * share)), max(1, int(height * share))))
        return small.resize(image.size, Image.Resampling.BICUBIC)
    share = draw.uniform(0.05, 0.2)
    if change == "dark":
        return image.point([int(value * share) for value in range(256)] * 3)
    if change == "bleached":
        return image.point([int(255 - (255 - value) * share) for value in range(256)] * 3)
    if change == "empty":
        plain = Image.new("RGB", image.size, tuple(draw.randrange(256) for _ in range(3)))
        if draw.random() < 0.5:
            plain.paste(image.resize((width // 12, height // 12)), (width // 3, height // 3))
        return plain
    if change == "small":
        share = draw.uniform(24, 56) / longer
        return image.resize((max(8, int(width * share)), max(8, int(height * share))))
    share = draw.uniform(0.08, 0.2)
    return image.crop((0, 0, width, max(1, int(width * share))))


def kinds_of(data: bytes) -> set[str]:
    try:
        return set(measure_quality(decode_image(data)).problems)
    except MediaError:
        return {"broken"}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    draw = Random(arguments.seed)
    files = sorted(path for path in arguments.folder.rglob("*") if path.suffix.lower() in (".jpg", ".jpeg"))
    content, flagged = hashlib.sha256(), 0
    for path in files:
        content.update(path.read_bytes())
        flagged += bool(kinds_of(path.read_bytes()))
    print(f"{len(files)} photographs, {content.hexdigest()[:16]}: {flagged} flagged")
    named: Counter[str] = Counter()
    for change, kind in KINDS.items():
        for path in draw.sample(files, COPIES):
            data = io.BytesIO()
            with Image.open(path) as image:
                spoil(change, image.convert("RGB"), draw).save(data, "JPEG", quality=90)
            named[change] += kind in kinds_of(data.getvalue())
    for path in draw.sample(files, COPIES):
        whole = path.read_bytes()
        named["cut short"] += "broken" in kinds_of(whole[: int(len(whole) * draw.uniform(0.3, 0.95))])
    for change in (*KINDS, "cut short"):
        print(f"{change:14} {named[change]} of {COPIES}")


if __name__ == "__main__":
    main()
