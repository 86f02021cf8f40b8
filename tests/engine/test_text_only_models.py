"""A model that takes no images is not asked about them: skipped, or sample by sample."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from PIL import Image

import snellen
from snellen import Capabilities, Generate, Variant

HINT = "--control blind asks text-only models, without images"


class Reader:
    """Notes what it is asked."""

    identity = "reader"
    capabilities = Capabilities(inputs=frozenset({"text"}))

    def __init__(self) -> None:
        self.asked: list[str] = []

    def answer(self, request: Generate) -> str:
        assert not request.images()
        self.asked.append(request.ref.sample)
        return "A"


def written(folder: Path, *rows: tuple[str, str]) -> str:
    out = io.BytesIO()
    Image.new("RGB", (4, 4), "red").save(out, "PNG")
    (folder / "red.png").write_bytes(out.getvalue())
    path = folder / "mine.tsv"
    lines = [f"{name}\t{image}\tWhich {name}?\tred\tblue\tA" for name, image in rows]
    path.write_text("\n".join(["index\timage_path\tquestion\tA\tB\tanswer", *lines]) + "\n")
    return str(path)


def test_a_benchmark_of_images_is_skipped_with_a_hint(tmp_path: Path) -> None:
    results = snellen.evaluate(Reader(), "eyechart", out=tmp_path, limit=5, html=False)
    assert not results.runs
    (skipped,) = results.skipped
    assert skipped.reason.endswith(f"needs image input, which the model does not take; {HINT}")


def test_own_data_with_an_image_in_each_row_are_skipped(tmp_path: Path) -> None:
    model, data = Reader(), written(tmp_path, ("1", "red.png"), ("2", "red.png"))
    results = snellen.evaluate(model, data, out=tmp_path / "out", html=False)
    assert [skipped.reason.endswith(HINT) for skipped in results.skipped] == [True]
    assert (results.runs, model.asked) == ([], [])


def test_of_mixed_data_what_has_no_image_is_asked(tmp_path: Path) -> None:
    model, data = Reader(), written(tmp_path, ("1", "red.png"), ("2", ""), ("3", ""))
    (run,) = snellen.evaluate(model, data, out=tmp_path / "out", html=False).runs
    assert sorted(model.asked) == ["2", "3"]
    report = run.report()
    assert report.summary.outcomes["unsupported"] == 1
    assert report.run.status == "complete"
    assert report.summary.headline.value == 100.0


@pytest.mark.parametrize("benchmark", ["eyechart", "mine"])
def test_blind_it_is_asked_everything(tmp_path: Path, benchmark: str) -> None:
    model = Reader()
    data = benchmark if benchmark == "eyechart" else written(tmp_path, ("1", "red.png"))
    blind = Variant(control="blind")
    results = snellen.evaluate(model, data, out=tmp_path / "out", variant=blind, limit=3, html=False)
    assert [run.info.status for run in results.runs] == ["complete"]
    assert model.asked
