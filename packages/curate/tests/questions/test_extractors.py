"""Extractors: by name, by plug-in, recorded."""

from __future__ import annotations

from importlib.metadata import EntryPoint
from pathlib import Path

import pytest
from PIL import Image

from snellen.core.errors import DataError, UsageError
from snellen.core.flow import Steps, run_flow
from snellen.core.media import FileSource
from snellen.core.output import Generated
from snellen.core.sample import MediaRef
from snellen_curate.questions.extraction import (
    Aspect,
    Instance,
    View,
    VisualFacts,
    clip_box,
    describe,
)
from snellen_curate.questions.extractors import table
from snellen_curate.questions.extractors.recorded import RecordedFacts, RecordedFile, open_recorded
from snellen_curate.questions.extractors.table import extraction_prompt, open_extractor
from snellen_curate.questions.sources import open_pictures


@pytest.mark.parametrize(
    ("spec", "name", "aspects"),
    [
        ("rapidocr", "rapidocr", {"text"}),
        ("text=rapidocr", "rapidocr", {"text"}),
        ("caption=openai/gpt-4o", "openai/gpt-4o", {"caption"}),
        ("caption,text=hf/a/b:dtype=float16", "hf/a/b:dtype=float16", {"caption", "text"}),
        ("all=http://127.0.0.1:1/v1#m", "http://127.0.0.1:1/v1#m",
         {"caption", "instances", "attributes", "dense", "text"}),
    ],
)  # fmt: skip
def test_extractors_by_name(spec: str, name: str, aspects: set[str]) -> None:
    extractor = open_extractor(spec)
    assert (extractor.name, extractor.aspects) == (name, aspects)


@pytest.mark.parametrize(
    ("spec", "sentence"),
    [
        ("caption=rapidocr", "rapidocr finds text"),
        ("file:nowhere.jsonl", "there is no such file of extractions"),
    ],
)
def test_extractors_that_cannot_be_opened(spec: str, sentence: str) -> None:
    with pytest.raises((UsageError, DataError), match=sentence):
        open_extractor(spec)


class Constant:
    """An extractor of another package, which asks no model."""

    name, model = "constant:x", None
    aspects: frozenset[Aspect] = frozenset({"caption"})

    def find(self, view: View, aspects: frozenset[Aspect], role: str) -> Steps[VisualFacts]:
        yield from ()
        return VisualFacts(captions=(f"{view.width} x {view.height}",))


def open_constant(argument: str, aspects: frozenset[Aspect]) -> Constant:
    assert argument == "x"
    return Constant()


def test_extractors_of_other_packages(monkeypatch: pytest.MonkeyPatch) -> None:
    entry = EntryPoint("constant", f"{__name__}:open_constant", table.ENTRY_POINTS)
    monkeypatch.setattr(table, "plugin_entry_points", lambda group: {"constant": entry})
    monkeypatch.setattr(table, "load_entry_point", lambda loaded: open_constant)
    assert open_extractor("caption=constant:x").name == "constant:x"


def test_recorded_extractions(tmp_path: Path) -> None:
    file = tmp_path / "facts.jsonl"
    file.write_text(
        '{"picture": "a.png", "captions": ["a dog"], "instances": [{"label": "dog", '
        '"box": [1, 2, 3, 4], "attributes": ["brown"]}], "texts": [{"text": "EXIT"}]}\n\n'
    )
    extractor = open_recorded(str(file), frozenset[Aspect]({"caption", "instances"}))
    view = View(picture="a.png", ref=MediaRef("0", FileSource("")), width=10, height=10)
    found = run_flow(extractor.find(view, extractor.aspects, ""), lambda request: Generated(""))
    assert found.captions == ("a dog",)
    assert found.instances == (Instance("dog", (1.0, 2.0, 3.0, 4.0), ("brown",)),)
    assert found.texts == ()
    assert describe(found).splitlines() == [
        "Captions:",
        "- a dog",
        "Instances, with box [left, top, right, bottom] in pixels and attributes:",
        "- dog [1, 2, 3, 4]: brown",
    ]
    file.write_text('{"picture": "a.png"}\n{"captions": 3}\n')
    with pytest.raises(DataError, match="line 2 is no extraction"):
        open_recorded(str(file), frozenset())


def test_recorded_extractions_are_found_by_the_name_of_the_file(tmp_path: Path) -> None:
    for name in ("a/1.png", "b/1.png", "b/2.png", "c/3.png"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        Image.new("RGB", (9, 9)).save(tmp_path / name)
    rows = [["image"], ["a/1.png"], ["b/1.png"], ["b/2.png"], ["c/3.png"]]
    (tmp_path / "pictures.csv").write_text("".join(",".join(row) + "\n" for row in rows))
    pictures = open_pictures(tmp_path / "pictures.csv")
    (tmp_path / "facts.jsonl").write_text(
        "".join(f'{{"picture": "{name}"}}\n' for name in ("a/1.png", "x/1.png", "2.png"))
    )
    file = RecordedFile(tmp_path / "facts.jsonl", RecordedFacts)
    # Of two files of one name each has its own folder's line, and no other's.
    found = [file.id_of(one.id, one.medium) for one in pictures]
    assert found == ["a/1.png", None, "2.png", None]
    assert file.count_missing(pictures) == 2
    (tmp_path / "facts.jsonl").write_text('{"picture": "9.png"}\n')
    with pytest.raises(UsageError, match=r"0 of 4 pictures are in .* look like '9.png', ids here"):
        RecordedFile(tmp_path / "facts.jsonl", RecordedFacts).count_missing(pictures)


def test_a_model_is_asked_for_the_aspects_that_are_wanted() -> None:
    prompt = extraction_prompt({"caption", "text"})
    assert '"caption"' in prompt
    assert '"text"' in prompt
    assert '"instances"' not in prompt
    assert '"attributes"' in extraction_prompt({"instances", "attributes"})


def test_boxes() -> None:
    assert clip_box((30, 5, -4, 90), 20, 40) == (0.0, 5, 20, 40)
