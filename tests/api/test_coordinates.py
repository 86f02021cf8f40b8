"""The coordinate space of a model fills the option of a benchmark that asks for places."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from PIL import Image

from snellen.analysis.comparison.comparability import differing_facts
from snellen.cli.main import main
from snellen.core.benchmark import COORDINATES_FROM
from snellen.store.runs import find_runs

MODELS = """
import re

class Native:
    coordinates = "thousandths"

    def answer(self, request):
        return "pyautogui.click(x=200, y=400)"

class Chosen:
    def __init__(self, coordinates="fractions"):
        self.coordinates = coordinates

    def answer(self, request):
        return "pyautogui.click(x=0.2, y=0.4)"

def plain(request):
    text = request.messages[-1].text()
    return "pyautogui.click(x=200, y=400)" if "1000" in text else "pyautogui.click(x=0.2, y=0.4)"
"""


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """One screenshot of 200 x 100 pixels, whose element reaches from (20, 10) to (60, 60)."""
    (tmp_path / "models.py").write_text(MODELS)
    Image.new("RGB", (200, 100), "white").save(tmp_path / "a.png")
    rows = tmp_path / "rows.jsonl"
    row = {"index": 0, "image_path": "a.png", "question": "open it", "bbox": "[20, 10, 40, 50]"}
    rows.write_text(json.dumps({**row, "data_source": "shop", "data_type": "text"}) + "\n")
    return tmp_path


def run(data: Path, model: str, benchmark: str = "screenspot") -> dict[str, str]:
    """The parameters of a run, which must be right."""
    out = data / "out"
    words = ["run", "--load", str(data / "models.py"), "-m", model, "-b", f"{benchmark}", "--data"]
    assert main([*words, str(data / "rows.jsonl"), "--out", str(out), "-q", "--no-html"]) == 0
    (found,) = find_runs(out)
    assert [record.score for record in found.records()] == [1.0]
    return dict(found.info.config.parameters)


@pytest.mark.parametrize(
    ("model", "benchmark", "space", "origin"),
    [
        ("plain", "screenspot", "fractions", None),
        ("plain", "screenspot:coordinates=thousandths", "thousandths", None),
        ("plain:coordinates=thousandths", "screenspot", "thousandths", "model option"),
        ("Native", "screenspot", "thousandths", "model option"),
        ("Chosen:coordinates=pixels", "screenspot:coordinates=fractions", "fractions", None),
    ],
)
def test_the_space_of_a_model_is_asked_for_and_recorded(
    data: Path, model: str, benchmark: str, space: str, origin: str | None
) -> None:
    parameters = run(data, model, benchmark)
    assert parameters["coordinates"] == space
    assert parameters.get(COORDINATES_FROM) == origin


def test_models_that_are_each_asked_in_their_own_space_are_comparable(data: Path) -> None:
    for model in ("Native", "Chosen:coordinates=fractions", "plain"):
        words = ["run", "--load", str(data / "models.py"), "-m", model, "-b", "screenspot"]
        out = ["--data", str(data / "rows.jsonl"), "--out", str(data / model.partition(":")[0])]
        assert main([*words, *out, "-q", "--no-html"]) == 0
    (native,), (chosen,), (plain,) = (find_runs(data / name) for name in ("Native", "Chosen", "plain"))
    assert differing_facts([native.info, chosen.info]) == []
    # The space of a benchmark's default is no fact of the model.
    assert differing_facts([native.info, plain.info]) == ["coordinates="]
