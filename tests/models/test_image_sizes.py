"""At which sizes models see pictures, from real processors, and the way back from pixels there."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import pytest
from family_parts import Made, saveable
from family_qwen_like import glm4v, qwen2, qwen2_5, qwen3
from questions_for_models import ask, noise, rank

from snellen.core.output import Generated
from snellen.core.place import Box, parse_space
from snellen.models.hf.model import HuggingFace
from snellen.models.naming.registry import open_model

pytestmark = pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")
FAMILIES = {"qwen2": qwen2, "qwen2_5": qwen2_5, "qwen3": qwen3, "glm4v": glm4v}
PICTURES = ((40, 30), (66, 20), (150, 90), (33, 130))


def saved(made: Made, folder: Path) -> Path:
    made.model.save_pretrained(folder)
    saveable(made.processor).save_pretrained(folder)
    return folder


def opened(folder: Path, **options: str) -> HuggingFace:
    model = open_model(f"hf/{folder}", {"device": "cpu", "dtype": "float32"} | options)
    assert isinstance(model, HuggingFace)
    return model


def sizes(model: HuggingFace, *pictures: bytes) -> tuple[tuple[int, int], ...]:
    [output] = model.answer_batch([ask("Where?", *pictures)])
    assert isinstance(output, Generated), output
    return output.image_sizes


def by_processor(model: HuggingFace, *pictures: bytes) -> tuple[tuple[int, int], ...]:
    """From the shape of the pixels themselves: rows of patches of each picture, over the whole grid."""
    processor = model.load().processor.image_processor
    seen = []
    for picture in pictures:
        made = processor(images=ask("?", picture).images(), return_tensors="pt")
        _, rows, columns = made["image_grid_thw"][0].tolist()
        assert made["pixel_values"].shape[0] == rows * columns
        seen.append((columns * processor.patch_size, rows * processor.patch_size))
    return tuple(seen)


@pytest.mark.parametrize("name", FAMILIES)
@pytest.mark.parametrize("sharing", ["auto", "off"])
def test_sizes_are_those_of_the_processor(name: str, sharing: str, tmp_path: Path) -> None:
    model = opened(saved(FAMILIES[name](), tmp_path), sharing=sharing)
    pictures = [noise(number, *size) for number, size in enumerate(PICTURES)]
    for picture in pictures:
        assert sizes(model, picture) == by_processor(model, picture)
    assert sizes(model, *pictures[:3]) == by_processor(model, *pictures[:3])
    # Patches of 8 pixels that are merged by two: this picture stays as it is.
    assert sizes(model, noise(9, 48, 32)) == ()
    assert sizes(model) == ()
    assert not hasattr(model.answer_batch([rank("Red?", ("yes", "no"), pictures[0])])[0], "image_sizes")


def test_a_batch_keeps_its_rows_apart(tmp_path: Path) -> None:
    model = opened(saved(qwen2_5(), tmp_path), sharing="off")
    pictures = [noise(number, *size) for number, size in enumerate(PICTURES)]
    outputs = model.answer_batch([ask("Where?", picture) for picture in pictures])
    found = [output.image_sizes for output in outputs if isinstance(output, Generated)]
    assert found == [by_processor(model, picture) for picture in pictures]


def test_limits_of_pixels_change_the_sizes(tmp_path: Path) -> None:
    folder = saved(qwen2_5(), tmp_path)
    small = opened(folder, max_pixels=str(32 * 32))
    [(width, height)] = sizes(small, noise(1, 150, 90))
    assert width * height <= 32 * 32
    [(width, height)] = sizes(opened(folder, min_pixels=str(48 * 48)), noise(1, 16, 16))
    assert width * height >= 48 * 48


def test_the_way_back_is_exact(tmp_path: Path) -> None:
    model = opened(saved(qwen2_5(), tmp_path))
    draw = random.Random(3)
    space = parse_space("sent-pixels")
    for number, (width, height) in enumerate(PICTURES):
        [sent] = sizes(model, noise(number, width, height))
        for _ in range(50):
            left, top = draw.randrange(width), draw.randrange(height)
            box = Box(left, top, draw.randint(left, width), draw.randint(top, height))
            numbers = space.write_box(box, (width, height), sent)
            assert max(numbers[::2]) <= sent[0]
            assert max(numbers[1::2]) <= sent[1]
            assert space.read_box(numbers, (width, height), sent) == pytest.approx(box, abs=1e-9)
        assert space.read_box((0, 0, *sent), (width, height), sent) == (0, 0, width, height)


def test_models_without_such_a_grid_say_no_sizes(checkpoint: Callable[[str], Path]) -> None:
    assert sizes(opened(checkpoint("llava")), noise(1)) == ()
