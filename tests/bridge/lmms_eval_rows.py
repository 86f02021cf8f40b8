"""Made-up rows of data sets as lmms-eval's tasks read them, and where its loader finds them.

Four rows of each (lmms_eval_rows.json): `each` is taken in turn, `{i}` is the row's number, <image> a
picture and <sound> a sound drawn from the row's number. Columns are those that the task's own functions read.
Runs in lmms-eval's environment.
"""

from __future__ import annotations

import json
import shutil
import zlib
from pathlib import Path
from typing import Any, NamedTuple

ROWS = 4
IMG, WAV = "<image>", "<sound>"


class Made(NamedTuple):
    """The data of one task."""

    path: str
    """Of the data set on the hub."""
    config: str
    split: str
    row: dict[str, Any]
    videos: str = ""
    """Name of the row's video in the folder of the cache."""
    judge: tuple[str, ...] = ("1", "0")
    """What a judge says, if one is asked."""


def read_made(stored: dict[str, Any], judge: list[str]) -> Made:
    """One entry of a data set in the JSON files."""
    return Made(
        stored["path"], stored["config"], stored["split"], stored["row"], stored.get("videos", ""), tuple(judge)
    )


def read_tasks() -> dict[str, Made]:
    """The rows of each task."""
    stored = json.loads(Path(__file__).with_suffix(".json").read_text("utf-8"))
    return {name: read_made(one, one["judge"]) for name, one in stored.items()}


TASKS = read_tasks()


def fill(value: Any, row: int) -> Any:
    """The value of a cell in one row."""
    if isinstance(value, dict) and list(value) == ["each"]:
        return fill(value["each"][row % len(value["each"])], row)
    if value == IMG:
        return draw_picture(row)
    if value == WAV:
        return {"array": draw_sound(row), "sampling_rate": 16000}
    if isinstance(value, list):
        return [fill(one, row + 10 * place if one == IMG else row) for place, one in enumerate(value)]
    if isinstance(value, dict):
        return {key: fill(one, row) for key, one in value.items()}
    return value.replace("{i}", str(row)) if isinstance(value, str) else value


def draw_picture(number: int) -> Any:
    from PIL import Image

    image = Image.new("RGB", (30 + number, 20), (40 + 9 * number, 90, 200 - 3 * number))
    image.paste((250, 20 * (number % 10), 9), (number % 9, 3, number % 9 + 8, 12))
    return image


def draw_sound(number: int) -> Any:
    import numpy

    return (numpy.sin(numpy.arange(800) * (0.05 + 0.01 * number)) * 0.5).astype("float32")


def write_video(path: Path, number: int) -> None:
    """Four frames in one plain file; the same bytes for the same number are not needed."""
    import av
    import numpy

    path.parent.mkdir(parents=True, exist_ok=True)
    with av.open(str(path), "w") as container:
        stream = container.add_stream("mpeg4", rate=2)
        stream.width, stream.height, stream.pix_fmt = 32, 32, "yuv420p"
        for frame in range(4):
            picture = numpy.full((32, 32, 3), 30 * frame + number, dtype=numpy.uint8)
            for packet in stream.encode(av.VideoFrame.from_ndarray(picture, format="rgb24")):
                container.mux(packet)
        for packet in stream.encode():
            container.mux(packet)


def place(tasks: list[str], home: Path) -> None:
    """Put the rows of some tasks, and their videos, where they are when they have been fetched."""
    for task in tasks:
        if TASKS[task].videos:
            for row in range(ROWS):
                write_video(home / TASKS[task].videos.replace("{i}", str(row)), row)
    write_caches([TASKS[task] for task in tasks], home)


def write_caches(sets: list[Made], home: Path) -> None:
    """Put rows in the cache of the hub, as if they had been fetched."""
    grouped: dict[tuple[str, str], dict[str, Made]] = {}
    for made in sets:
        if made.path:
            grouped.setdefault((made.path, made.config), {})[made.split] = made
    for (path, config), splits in grouped.items():
        _write_cache(path, config, splits, home)


def _write_cache(path: str, config: str, splits: dict[str, Made], home: Path) -> None:
    import datasets
    from datasets.naming import camelcase_to_snakecase

    owner, _, name = path.rpartition("/")
    snake = camelcase_to_snakecase(name)
    digest = f"{zlib.crc32(f'{path}/{config}'.encode()):040x}"
    folder = home / "datasets" / (f"{owner}___{snake}" if owner else snake) / config / "0.0.0" / digest
    folder.mkdir(parents=True)
    infos = {}
    features = None
    for split, made in splits.items():
        rows = [fill(made.row, row) for row in range(ROWS)]
        data = datasets.Dataset.from_dict({key: [row[key] for row in rows] for key in rows[0]})
        for key, value in made.row.items():
            if value == WAV:
                data = data.cast_column(key, datasets.Audio(sampling_rate=16000))
        data.save_to_disk(folder / "saved", num_shards=1)
        shutil.move(folder / "saved" / "data-00000-of-00001.arrow", folder / f"{snake}-{split}.arrow")
        shutil.rmtree(folder / "saved")
        infos[split] = {"name": split, "num_bytes": 1, "num_examples": len(rows), "dataset_name": snake}
        features = data.features
    info = datasets.DatasetInfo(builder_name="parquet", dataset_name=snake, config_name=config, features=features)
    written = {**json.loads(json.dumps(datasets.info.asdict(info))), "splits": infos, "version": "0.0.0"}
    (folder / "dataset_info.json").write_text(json.dumps(written), "utf-8")
