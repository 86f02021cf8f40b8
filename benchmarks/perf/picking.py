"""Random samples of a TSV with their pictures decoded, beside a loop that knows every place."""

from __future__ import annotations

import base64
import io
import random
from pathlib import Path

from benchmarks.perf.figures import Size, seconds
from benchmarks.perf.settled import settle

from snellen.benchmarks.declaration.rows import rows_to_samples
from snellen.core.media import decode_image
from snellen.data.tables.open_table import open_table
from snellen.settings import Settings

WIDTH, HEIGHT = 480, 360
_PICTURES = 64
"""Different photographs in the file."""


def measured(folder: Path, size: Size) -> tuple[list[float], list[float]]:
    """Seconds of the bare loop and of Snellen, pair by pair."""
    path = folder / "photographs.tsv"
    rows = max(20, size.rows // 5)
    places = write_photographs(path, rows)
    picked = random.Random(5).sample(range(rows), min(1000, rows // 2))
    table = open_table(str(path), settings=Settings(cache=folder / "cache"))
    names = {str(number) for number in picked}

    def bare() -> None:
        from PIL import Image

        with path.open("rb") as file:
            for number in sorted(picked):
                offset, length = places[number]
                file.seek(offset)
                data = base64.b64decode(file.read(length))
                Image.open(io.BytesIO(data)).convert("RGB")

    def ours() -> None:
        for sample in rows_to_samples(table, path=table.path):
            if sample.id in names:
                decode_image(sample.media[0].source.read())

    pairs = [(seconds(bare), seconds(ours)) for _ in range(min(size.repeats, 3))]
    return [one for one, _ in pairs], [other for _, other in pairs]


def write_photographs(path: Path, rows: int) -> list[tuple[int, int]]:
    """A TSV of JPEG pictures; returns where each cell begins and how long it is, in bytes."""
    cells = [base64.b64encode(_photograph(seed)) for seed in range(_PICTURES)]
    places = []
    with path.open("wb") as file:
        offset = file.write(b"index\tquestion\tA\tB\tanswer\timage\n")
        for number in range(rows):
            cell = cells[number % _PICTURES]
            text = f"{number}\tWhat is shown in picture {number}?\ta cat\ta dog\tA\t".encode()
            places.append((offset + len(text), len(cell)))
            offset += file.write(text + cell + b"\n")
    settle(path)
    return places


def _photograph(seed: int) -> bytes:
    """Smooth colours with noise: as hard to decode as a photograph."""
    from PIL import Image

    draw = random.Random(seed)
    coarse = Image.frombytes("RGB", (24, 18), draw.randbytes(24 * 18 * 3))
    smooth = coarse.resize((WIDTH, HEIGHT), Image.Resampling.BICUBIC)
    noise = Image.frombytes("RGB", (WIDTH, HEIGHT), draw.randbytes(WIDTH * HEIGHT * 3))
    data = io.BytesIO()
    Image.blend(smooth, noise, 0.08).save(data, "JPEG", quality=88)
    return data.getvalue()
