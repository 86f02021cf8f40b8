"""Where a question gives its own answer away."""

from __future__ import annotations

import io

import pytest
from PIL import Image, PngImagePlugin

from snellen.core.sample import Kind, Sample
from snellen_curate.publish.hold_out import find_giveaways, image_texts

OPTIONS = {"A": "golden retriever", "B": "cat", "C": "a red car"}


def make_image(text: str = "") -> bytes:
    info = PngImagePlugin.PngInfo()
    if text:
        info.add_text("Title", text)
    file = io.BytesIO()
    Image.new("RGB", (8, 8)).save(file, "PNG", pnginfo=info)
    return file.getvalue()


def jpeg(text: str) -> bytes:
    exif = Image.Exif()
    exif[0x010E] = text  # ImageDescription
    file = io.BytesIO()
    Image.new("RGB", (8, 8)).save(file, "JPEG", exif=exif)
    return file.getvalue()


def sample(
    gold: str = "A", name: str = "17", question: str = "What is it?", hint: str = "", kind: Kind = "choice"
) -> Sample:
    return Sample(name, kind, question, (gold,), OPTIONS if kind == "choice" else {}, hint=hint)


@pytest.mark.parametrize(
    ("item", "cells", "data", "place"),
    [
        (sample(hint="The answer is A."), {}, b"", "the hint"),
        (sample(hint="Correct option: golden retriever"), {}, b"", "the hint"),
        (sample(question="What is it? (answer: a)"), {}, b"", "the question"),
        (sample(name="golden_retriever-003"), {}, b"", "the id"),
        (sample(), {"source": "dogs/golden-retriever"}, b"", "the column source"),
        (sample(), {}, make_image("a golden retriever at noon"), "the metadata of picture d"),
        (sample(), {}, jpeg("Golden Retriever"), "the metadata of picture d"),
        (sample("Paris", kind="open"), {"source": "photo of Paris"}, b"", "the column source"),
        (sample("yes", hint="solution = yes", kind="yes_no"), {}, b"", "the hint"),
    ],
)
def test_finds_giveaways(item: Sample, cells: dict[str, str], data: bytes, place: str) -> None:
    assert find_giveaways(item, cells, {"d": image_texts(data)} if data else {}) == [place]


@pytest.mark.parametrize(
    ("item", "cells", "data"),
    [
        (sample(hint="A golden retriever is a dog."), {}, b""),
        (sample(hint="The answer is B or C."), {}, b""),
        (sample("B", name="category-9"), {"source": "concatenated"}, b""),
        (sample(), {"source": "COCO"}, make_image("drawn by GIMP")),
        (sample(), {}, b"no picture at all"),
        (sample("yes", kind="yes_no"), {"source": "eyes"}, b""),
    ],
)
def test_finds_no_giveaways(item: Sample, cells: dict[str, str], data: bytes) -> None:
    assert find_giveaways(item, cells, {"d": image_texts(data)} if data else {}) == []
