"""`snellen parity --coordinates`: scripted models, real processors, and a model that cannot see."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from family_llava_like import llava
from family_parts import Made, saveable
from family_qwen_like import qwen2_5, qwen3

from snellen.cli.main import main
from snellen.core.errors import UsageError

MODELS = """
import io
import random

import numpy
from PIL import Image
from snellen import Generated
from snellen.core.place import Point, parse_space


def square(request):
    (data,) = [source.read() for source in request.media.values()]
    pixels = numpy.asarray(Image.open(io.BytesIO(data)).convert("RGB")).astype(int)
    rows, columns = numpy.nonzero((pixels[..., 0] > 180) & (pixels[..., 1] < 80))
    box = (columns.min(), rows.min(), columns.max() + 1, rows.max() + 1)
    return (pixels.shape[1], pixels.shape[0]), [float(side) for side in box]


def written(request, space, sent=(), error=0.01):
    from snellen.core.place import Box

    size, box = square(request)
    draw = random.Random(str(request.ref))
    box = Box(*(side + draw.gauss(0, error) * size[at % 2] for at, side in enumerate(box)))
    if "centre" in request.messages[0].text():
        centre = Point((box.left + box.right) / 2, (box.top + box.bottom) / 2)
        numbers = space.write_point(centre, size, sent or size)
    else:
        numbers = space.write_box(box, size, sent or size)
    return str([round(number, 3) for number in numbers])


class Writer:
    def __init__(self, space="thousandths"):
        self.space = parse_space(space)

    def answer(self, request):
        return written(request, self.space)


class Resizer:
    def answer(self, request):
        size, _ = square(request)
        sent = (448, 448)
        return Generated(written(request, parse_space("sent-pixels"), sent), image_sizes=(sent,))


def Guess(request):
    draw = random.Random(str(request.ref))
    return str([draw.randint(0, 1000) for _ in range(2 if "centre" in request.messages[0].text() else 4)])


class OfProcessor:
    'A checkpoint with random weights, whose replies hold the place at the sizes that its processor reports.'

    def __init__(self, folder="", space="sent-pixels"):
        from snellen.models.naming.registry import open_model

        self.model = open_model(f"hf/{folder}:device=cpu,dtype=float32")
        self.space = parse_space(space)

    def answer_batch(self, requests):
        from msgspec.structs import replace

        outputs = self.model.answer_batch(requests)
        return [
            replace(output, text=written(request, self.space, output.image_sizes[0] if output.image_sizes else ()))
            for request, output in zip(requests, outputs, strict=True)
        ]
"""
SPACES = (
    "pixels",
    "fractions",
    "percent",
    "thousandths",
    "thousandths-yx",
    "bins-yx",
    "thousandths-centre-size",
    "pixels-corner-size",
)


@pytest.fixture
def load(tmp_path: Path) -> list[str]:
    (tmp_path / "models.py").write_text(MODELS)
    return ["parity", "--coordinates", "--load", str(tmp_path / "models.py"), "--out", str(tmp_path / "out")]


@pytest.mark.parametrize("space", SPACES)
def test_the_space_of_a_scripted_model(load: list[str], space: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*load, "-m", f"Writer:space={space}", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["space"], found["verdict"], found["with_numbers"]) == (space, "certain", 64)


def test_what_is_printed_can_be_typed(load: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*load, "-m", "Writer:space=percent,coordinates=pixels"]) == 0
    shown = capsys.readouterr().out
    assert "declared: pixels (model option), which its replies contradict" in shown
    assert "declare it: -m Writer:space=percent,coordinates=percent" in shown
    # Stored replies are those of the same model, however it is declared.
    assert main([*load, "-m", "Writer:space=percent,coordinates=percent"]) == 0
    assert "declared: percent (model option)\n" in capsys.readouterr().out


def test_a_model_that_resizes_first(load: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*load, "-m", "Resizer", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["space"] == "sent-pixels"


@pytest.mark.parametrize("model", ["Guess", "random", "snellen/tiny"])
def test_a_model_that_does_not_find_the_square(load: list[str], model: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*load, "-m", model]) == 1
    said = "no reply names a place" if model == "snellen/tiny" else "cannot tell"
    assert said in capsys.readouterr().out


@pytest.mark.parametrize(("make", "space"), [(qwen2_5, "sent-pixels"), (qwen3, "thousandths"), (llava, "fractions")])
def test_real_processors_of_three_layouts(
    load: list[str], make: object, space: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made = make()  # type: ignore[operator]
    assert isinstance(made, Made)
    made.model.save_pretrained(tmp_path / "model")
    saveable(made.processor).save_pretrained(tmp_path / "model")
    words = ["-m", f"OfProcessor:folder={tmp_path / 'model'},space={space}", "--generation", "max_new_tokens=2"]
    assert main([*load, *words, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["space"] == space


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--coordinates", "-m", "random", "-m", "frequent"], "give one -m, and no -b"),
        (["--coordinates", "-m", "random", "-b", "eyechart"], "give one -m, and no -b"),
        (["-m", "random", "-m", "frequent"], "name it: -b NAME"),
    ],
)
def test_flags_that_do_not_go_together(words: list[str], sentence: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["parity", *words]) == 2
    assert sentence in capsys.readouterr().err


def test_a_model_without_eyes_is_not_asked(tmp_path: Path) -> None:
    from snellen.api.measured_space import measure_space
    from snellen.core.model import Capabilities

    class Blind:
        capabilities = Capabilities(inputs=frozenset({"text"}))

        def answer(self, request: object) -> str:
            raise AssertionError("was asked")

    with pytest.raises(UsageError, match="takes no pictures"):
        measure_space(Blind(), out=tmp_path)
