"""Changed copies of photographs, and how many of them are found, by change.

    python packages/curate/tests/duplicates/photographs.py FOLDER --out DIR [--seed N]

FOLDER is a checkout with photographs, such as EliSchwartz/imagenet-sample-images. Writes 25 copies
for each of 20 changes, whose amounts the seed draws, and `q.jsonl`, a question about each picture,
which other tools can be given too; then prints the table of docs/curate/evidence.md for Snellen.
"""

from __future__ import annotations

import argparse
import io
import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from random import Random

from PIL import Image, ImageDraw, ImageEnhance, ImageFilter, ImageOps

from snellen_curate.duplicates.find import find_duplicates

COPIES = 25
PilImage = Image.Image


def recompress(image: PilImage, quality: int) -> PilImage:
    data = io.BytesIO()
    image.save(data, "JPEG", quality=quality)
    return Image.open(io.BytesIO(data.getvalue())).convert("RGB")


def resize(image: PilImage, across: float, down: float) -> PilImage:
    return image.resize((max(64, int(image.width * across)), max(64, int(image.height * down))))


def crop(image: PilImage, *shares: float) -> PilImage:
    """Cut shares of the sides off: left, top, right, bottom."""
    left, top, right, bottom = shares
    width, height = image.size
    sides = width * left, height * top, width * (1 - right), height * (1 - bottom)
    return image.crop(tuple(map(int, sides)))


def crop_side(image: PilImage, share: float, side: int) -> PilImage:
    return crop(image, *(share if place == side else 0 for place in range(4)))


def frame(image: PilImage, across: float, down: float, colour: str) -> PilImage:
    sides = int(across * image.width), int(down * image.height)
    return ImageOps.expand(image, sides, colour)


def add_bar(image: PilImage, share: float, on_top: bool) -> PilImage:
    height = int(share * image.height)
    whole = Image.new("RGB", (image.width, image.height + height), "#f0f0f0")
    whole.paste(image, (0, height if on_top else 0))
    return whole


def caption(image: PilImage, rng: Random) -> PilImage:
    image, (width, height) = image.copy(), image.size
    draw = ImageDraw.Draw(image)
    x, y = rng.uniform(0, 0.6) * width, rng.uniform(0, 0.9) * height
    draw.rectangle((x, y, x + 0.3 * width, y + 0.06 * height), fill="black")
    draw.text((x + 4, y + 2), "(c) own photo 2024", fill="white")
    return image


def changes(rng: Random) -> dict[str, Callable[[PilImage], PilImage]]:
    draw = rng.uniform

    def colours(image: PilImage) -> PilImage:
        coloured = ImageEnhance.Color(image).enhance(draw(0.5, 1.8))
        return ImageEnhance.Contrast(coloured).enhance(draw(0.7, 1.4))

    def smaller(image: PilImage) -> PilImage:
        share = draw(0.3, 0.6)
        return recompress(resize(image, share, share), 60)

    def border(image: PilImage) -> PilImage:
        share = draw(0.03, 0.1)
        return frame(image, share, share, rng.choice(["white", "black", "grey"]))

    return {
        "JPEG, quality 20 to 40": lambda im: recompress(im, rng.randint(20, 40)),
        "0.3 to 0.6 of the size": smaller,
        "without colour": lambda im: ImageOps.grayscale(im).convert("RGB"),
        "brightness x 0.6 to 1.4": lambda im: ImageEnhance.Brightness(im).enhance(draw(0.6, 1.4)),
        "colour and contrast": colours,
        "blur": lambda im: im.filter(ImageFilter.GaussianBlur(draw(1, 3))),
        "stretched by 1.1 to 1.3": lambda im: resize(im, draw(1.1, 1.3), 1),
        "cropped by 1 to 3 % a side": lambda im: crop(im, *[draw(0.01, 0.03)] * 4),
        "cropped by 4 to 7 % a side": lambda im: crop(im, *[draw(0.04, 0.07)] * 4),
        "cropped by 8 to 12 % a side": lambda im: crop(im, *[draw(0.08, 0.12)] * 4),
        "5 to 15 % of one side": lambda im: crop_side(im, draw(0.05, 0.15), rng.randrange(4)),
        "cropped unevenly by up to 10 %": lambda im: crop(im, *(draw(0, 0.1) for _ in range(4))),
        "border of 3 to 10 %": border,
        "bar of 6 to 15 %": lambda im: add_bar(im, draw(0.06, 0.15), rng.random() < 0.5),
        "letterbox": lambda im: frame(im, 0, draw(0.08, 0.14), "black"),
        "rotated by 1 to 4 degrees": lambda im: im.rotate(draw(1, 4) * rng.choice([-1, 1]), Image.Resampling.BICUBIC),
        "mirrored": ImageOps.mirror,
        "turned by quarters": lambda im: im.rotate(rng.choice([90, 270]), expand=True),
        "caption box": lambda im: caption(im, rng),
        "cropped, captioned, recompressed": lambda im: recompress(caption(crop(im, *[0.05] * 4), rng), 50),
    }


def write_copies(photographs: Path, out: Path, seed: int) -> dict[str, tuple[str, str]]:
    """Write the copies and `q.jsonl`; returns the original and the change by the copy's id."""
    rng = Random(seed)
    (out / "copies").mkdir(parents=True, exist_ok=True)
    suffixes = (".jpg", ".jpeg")
    originals = {
        str(number): path
        for number, path in enumerate(
            sorted(path.resolve() for path in photographs.rglob("*") if path.suffix.lower() in suffixes)
        )
    }
    paths, made = dict(originals), {}
    for number, (change, apply) in enumerate(changes(rng).items()):
        for original in rng.sample(list(originals), COPIES):
            name = f"{original}-{number}"
            paths[name] = (out / "copies" / f"{name}.jpg").resolve()
            with Image.open(originals[original]) as image:
                apply(image.convert("RGB")).save(paths[name], quality=90)
            made[name] = original, change
    rows = [
        {"index": name, "image_path": str(path), "question": "What is it?", "answer": "it"}
        for name, path in paths.items()
    ]
    (out / "q.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return made


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("photographs", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    made = write_copies(arguments.photographs, arguments.out, arguments.seed)
    report = find_duplicates(arguments.out / "q.jsonl").report
    pairs = {frozenset((pair.left, pair.right)) for pair in report.duplicates}
    asked = Counter(change for _, change in made.values())
    found = Counter(change for name, (original, change) in made.items() if frozenset((original, name)) in pairs)
    for change, count in asked.items():
        print(f"| {change} | {found[change]} of {count} |")
    origin = {name: original for name, (original, _) in made.items()}
    false = [pair for pair in map(sorted, pairs) if len({origin.get(one, one) for one in pair}) > 1]
    print(f"found: {found.total()} of {len(made)}; pairs of different photographs: {len(false)}")
    for left, right in false:
        print(f"  {left} {right}")


if __name__ == "__main__":
    main()
