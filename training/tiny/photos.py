"""Writes `eyechart_photos.tsv` from photographs that other packages ship.

`python -m training.tiny.photos --skimage DIR --sklearn DIR`, where the folders are the unpacked
`skimage/data` of scikit-image 0.26.0 and `sklearn/datasets/images` of scikit-learn 1.9.1.
"""

from __future__ import annotations

import argparse
import base64
import csv
import io
from dataclasses import dataclass
from pathlib import Path

from PIL import Image

from training.tiny.prompts import LETTERS

DATA = Path("src/snellen/benchmarks/data/eyechart_photos.tsv")
LONGEST_SIDE = 320
MOST_BYTES = 20_000


@dataclass(frozen=True)
class Ask:
    """One question on a photograph; options are empty for yes/no and open questions."""

    category: str
    question: str
    answer: str
    options: str = ""


FAMILIES = {
    "object": "perception",
    "colour": "perception",
    "existence": "perception",
    "count": "counting",
    "position": "spatial",
    "relation": "spatial",
    "scene": "perception",
}
PHOTOS: dict[str, tuple[Ask, ...]] = {
    "astronaut.png": (
        Ask(
            "object",
            "What is the person in the picture wearing?",
            "B",
            "a swimsuit|a space suit|a raincoat|a wedding dress",
        ),
        Ask("colour", "What color is the suit of the person?", "orange"),
        Ask("existence", "Is there a flag in the picture?", "Yes"),
        Ask("existence", "Is there a bicycle in the picture?", "No"),
        Ask("position", "Where is the helmet in the picture?", "D", "top left|top right|bottom left|bottom right"),
    ),
    "chelsea.png": (
        Ask("object", "Which animal is in the picture?", "C", "a dog|a horse|a cat|a bird"),
        Ask("existence", "Is there a cat in the picture?", "Yes"),
        Ask("existence", "Is there a dog in the picture?", "No"),
        Ask("count", "How many eyes of the animal can be seen?", "2"),
    ),
    "coffee.png": (
        Ask("object", "What is in the cup?", "A", "coffee|milk|orange juice|soup"),
        Ask("colour", "What color is the saucer?", "D", "blue|green|white|red"),
        Ask("existence", "Is there a spoon in the picture?", "Yes"),
        Ask("existence", "Is there a fork in the picture?", "No"),
        Ask("count", "How many cups are in the picture?", "1"),
    ),
    "rocket.jpg": (
        Ask("object", "What stands in the middle of the picture?", "B", "a lighthouse|a rocket|a church|a tree"),
        Ask("scene", "Is the sky dark or bright?", "A", "dark|bright"),
        Ask("existence", "Is there a rocket in the picture?", "Yes"),
        Ask("existence", "Is there a cow in the picture?", "No"),
    ),
    "camera.png": (
        Ask("object", "What is the man looking through?", "C", "a window|a microscope|a camera|a keyhole"),
        Ask("scene", "Was the picture taken indoors or outdoors?", "B", "indoors|outdoors"),
        Ask("count", "How many legs of the tripod can be seen?", "3"),
        Ask("relation", "On which side of the man is the camera?", "A", "right|left|below"),
        Ask("existence", "Is there a man in the picture?", "Yes"),
        Ask("existence", "Is there a dog in the picture?", "No"),
    ),
    "coins.png": (
        Ask("object", "Which objects are in the picture?", "D", "buttons|plates|wheels|coins"),
        Ask("count", "How many rows of objects are there?", "4"),
        Ask("existence", "Are there coins in the picture?", "Yes"),
        Ask("existence", "Are there flowers in the picture?", "No"),
    ),
    "china.jpg": (
        Ask("object", "What kind of building is in the picture?", "C", "a bridge|a windmill|a temple|a stadium"),
        Ask("scene", "What is behind the building?", "B", "a desert|a lake|a highway|a stage"),
        Ask("existence", "Are there trees in the picture?", "Yes"),
        Ask("existence", "Is there an airplane in the picture?", "No"),
    ),
    "flower.jpg": (
        Ask("object", "What is in the picture?", "A", "a flower|a fish|a clock|a chair"),
        Ask("colour", "What color is the flower?", "C", "blue|black|orange|purple"),
        Ask("existence", "Is there a flower in the picture?", "Yes"),
        Ask("existence", "Is there a cat in the picture?", "No"),
    ),
}


def jpeg(path: Path) -> bytes:
    """The photograph at most 320 pixels wide or high and at most 20 kB."""
    picture = Image.open(path).convert("RGB")
    picture.thumbnail((LONGEST_SIDE, LONGEST_SIDE), Image.Resampling.LANCZOS)
    for quality in range(85, 20, -5):
        buffer = io.BytesIO()
        picture.save(buffer, "JPEG", quality=quality, optimize=True)
        if buffer.tell() <= MOST_BYTES:
            return buffer.getvalue()
    raise ValueError(f"{path} does not fit {MOST_BYTES} bytes")


def write(folders: list[Path], path: Path) -> int:
    """The questions as a tab separated file; how many there are."""
    header = ["index", "image", "question", "hint", *LETTERS, "answer", "type", "category"]
    index = 0
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, delimiter="\t", lineterminator="\n")
        writer.writerow([*header, "l2-category", "split"])
        for name, asked in PHOTOS.items():
            source = next(f / name for f in folders if (f / name).exists())
            image, first = base64.b64encode(jpeg(source)).decode(), index + 1
            for ask in asked:
                index += 1
                options = ask.options.split("|") if ask.options else []
                yes_no = ask.answer in ("Yes", "No")
                kind = "mcq" if options else "yes_no" if yes_no else "open"
                cells = [index, image if index == first else first, ask.question, ""]
                cells += [*options, *[""] * (len(LETTERS) - len(options)), ask.answer, kind]
                writer.writerow([*cells, ask.category, FAMILIES[ask.category], "photos"])
    return index


def main() -> None:
    """Write the file."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--skimage", type=Path, required=True)
    parser.add_argument("--sklearn", type=Path, required=True)
    parser.add_argument("--out", type=Path, default=DATA)
    args = parser.parse_args()
    n = write([args.skimage, args.sklearn], args.out)
    print(f"{n} questions, {args.out.stat().st_size / 1e3:.0f} kB in {args.out}")


if __name__ == "__main__":
    main()
