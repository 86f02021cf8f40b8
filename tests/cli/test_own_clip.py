"""A model of one's own that compares pictures, by `--judge clip/NAME` and `--load`."""

from __future__ import annotations

import sys
from pathlib import Path

from snellen.cli import main
from snellen.store.runs import find_runs

sys.path.insert(0, str(Path(__file__).parents[1] / "benchmarks"))
from seed_files import COLOURS, RGB, seed_h

OWN = f"""
import hashlib, io
from PIL import Image
from snellen import Capabilities
from snellen.core.output import Compared, Drawn

class Painter:
    capabilities = Capabilities(outputs=frozenset({{"image"}}))

    def answer(self, request):
        colours = {RGB!r}
        named = next(colour for colour in {COLOURS!r} if colour in request.text())
        out = io.BytesIO()
        Image.new("RGB", (16, 16), colours[named]).save(out, "PNG")
        digest = hashlib.sha256(out.getvalue()).hexdigest()
        return Drawn((digest,), data={{digest: out.getvalue()}})

class Nearest:
    def answer(self, request):
        def middle(digest):
            image = Image.open(io.BytesIO(request.media[digest].read())).convert("RGB")
            return image.getpixel((image.width // 2, image.height // 2))

        drawn = middle(request.picture)
        others = map(middle, request.candidates)
        return Compared(tuple(-float(sum(abs(a - b) for a, b in zip(drawn, other))) for other in others))
"""


def test_drawings_are_compared_by_a_model_of_a_loaded_file(tmp_path: Path) -> None:
    own = tmp_path / "own.py"
    own.write_text(OWN)
    data = seed_h(tmp_path, per_dimension=4, only=["Text-to-Image Generation"])
    benchmark = ["-b", "seedbench:version=H,level=L3,protocol=generate", "--data", str(data)]
    models = ["-m", "Painter", "--judge", "clip/Nearest", "--load", str(own)]
    assert main(["run", *models, *benchmark, "--out", str(tmp_path / "out"), "--no-html"]) == 0
    (run,) = find_runs(tmp_path / "out")
    records = list(run.records())
    assert {record.answer for record in records} == {"A", "B", "C", "D"}
    assert [record.score for record in records] == [1.0] * 4
    assert run.info.config.roles["clip"].name == "Nearest"
