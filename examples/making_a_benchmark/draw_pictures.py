"""Draw the pictures that a benchmark is made of: 24 tables with three shapes over them and a sign.

python draw_pictures.py

writes pictures/*.png and pictures.csv, which names their source and licence. One picture is a near
copy of another, and one has no licence: both are to be found later.
"""

import csv
import random
from pathlib import Path
from typing import NamedTuple

from PIL import Image, ImageDraw, ImageEnhance, ImageFont

SIZE = (320, 240)
COLOURS = {
    "red": "#d02020",
    "blue": "#2040d0",
    "green": "#108030",
    "black": "#101010",
    "orange": "#f08000",
    "purple": "#8020a0",
    "yellow": "#e8c800",
}
SHAPES = ("circle", "square", "triangle", "star")
WORDS = ("HARBOUR", "WINDOW", "GARDEN", "MARKET", "BRIDGE", "STATION", "MUSEUM", "BAKERY")
PLACES = (60, 160, 260)
"""Middles of the shapes, from the left, in pixels."""
COPY_OF = 5
"""The last picture is a brighter copy of this one."""
WITHOUT_LICENCE = 11


class Scene(NamedTuple):
    """What a picture shows; the scripted models know it too."""

    number: int
    shapes: tuple[str, ...]
    """From left to right."""
    colours: tuple[str, ...]
    word: str

    @property
    def name(self) -> str:
        return f"table-{self.number:02d}.png"

    def colour_of(self, shape: str) -> str:
        return self.colours[self.shapes.index(shape)]


def scenes():
    """The scenes, the same every time."""
    chance = random.Random(18)
    made = [
        Scene(
            number, tuple(chance.sample(SHAPES, 3)), tuple(chance.sample(list(COLOURS), 3)), WORDS[number % len(WORDS)]
        )
        for number in range(1, 24)
    ]
    return [*made, made[COPY_OF - 1]._replace(number=24)]


def draw(scene):
    image = Image.new("RGB", SIZE, "#f4f0e8")
    pen = ImageDraw.Draw(image)
    pen.rectangle((0, 190, 320, 240), fill="#c0905a")  # the table
    for x, shape, colour in zip(PLACES, scene.shapes, scene.colours, strict=True):
        draw_shape(pen, shape, COLOURS[colour], x, 80)
    pen.rectangle((90, 150, 230, 185), fill="white", outline="#404040", width=2)  # the sign
    font = ImageFont.load_default(22)
    pen.text((160, 167), scene.word, fill="#202020", font=font, anchor="mm")
    if scene.number == 24:
        image = ImageEnhance.Brightness(image).enhance(1.04)
    return image


def draw_shape(pen, shape, colour, x, y, size=34):
    if shape == "circle":
        pen.ellipse((x - size, y - size, x + size, y + size), fill=colour)
    elif shape == "square":
        pen.rectangle((x - size, y - size, x + size, y + size), fill=colour)
    elif shape == "triangle":
        pen.polygon([(x, y - size), (x + size, y + size), (x - size, y + size)], fill=colour)
    else:
        pen.regular_polygon((x, y, size), 3, fill=colour)
        pen.regular_polygon((x, y, size), 3, rotation=180, fill=colour)


def main():
    folder = Path("pictures")
    folder.mkdir(exist_ok=True)
    with Path("pictures.csv").open("w", newline="", encoding="utf-8") as file:
        table = csv.writer(file)
        table.writerow(["id", "image_path", "source", "license"])
        for scene in scenes():
            draw(scene).save(folder / scene.name)
            licence = "" if scene.number == WITHOUT_LICENCE else "CC0-1.0"
            name = scene.name.removesuffix(".png")
            table.writerow([name, f"pictures/{scene.name}", "drawn here", licence])
    print(f"{len(scenes())} pictures in {folder}, and pictures.csv")


if __name__ == "__main__":
    main()
