"""Strategies and importers of another package, through its entry points."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from PIL import Image

from snellen.core.entry_points import plugin_entry_points
from snellen.core.errors import UsageError
from snellen_curate.metadata.build import build_questions
from snellen_curate.metadata.importers.importer import ImportRequest, import_metadata

ENTRIES = """
[snellen.distractors]
backwards = letters_of_others:BACKWARDS
broken = letters_of_others:read

[snellen.metadata_importers]
one-line = letters_of_others:read
"""
SOURCE = """
from pathlib import Path
from msgspec import Struct
from snellen_curate.metadata.distractors import DistractorStrategy
from snellen_curate.metadata.importers.importer import ImportedMetadata
from snellen_curate.metadata.records import MetadataRecord

class Times(Struct, forbid_unknown_fields=True):
    times: int = 3

def propose(context, settings):
    yield context.target.gold[::-1]
    for number in range(settings.times):
        yield context.target.gold + "!" + "abc"[number]

BACKWARDS = DistractorStrategy(Times, propose)

def read(request):
    name, label = Path(request.paths[0]).read_text().split()
    record = MetadataRecord("r1", request.name, (request.image_path(name, request.out.parent),),
                            label=label)
    return ImportedMetadata(iter([record]))
"""


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """An installed package of these entry points."""
    site = tmp_path / "site"
    facts = site / "letters_of_others-1.dist-info"
    facts.mkdir(parents=True)
    (facts / "METADATA").write_text("Metadata-Version: 2.1\nName: letters-of-others\nVersion: 1\n")
    (facts / "entry_points.txt").write_text(ENTRIES)
    (site / "letters_of_others.py").write_text(SOURCE)
    monkeypatch.syspath_prepend(str(site))
    plugin_entry_points.cache_clear()
    yield
    sys.modules.pop("letters_of_others", None)
    plugin_entry_points.cache_clear()


def test_a_package_adds_a_strategy_and_an_importer(package: None, tmp_path: Path) -> None:
    Image.new("RGB", (8, 8)).save(tmp_path / "p.png")
    (tmp_path / "one.txt").write_text("p.png stop")
    out = tmp_path / "records.jsonl"
    assert import_metadata("one-line", ImportRequest(paths=(str(tmp_path / "one.txt"),), out=out))
    template = '[[templates]]\nsubtask = "s"\nanswer = "label"\nquestions = ["?"]\noptions = 5\n'
    templates = tmp_path / "t.toml"
    templates.write_text(template + 'distractors = [{ by = "backwards", times = 3 }]\n')
    build_questions(out, templates, tmp_path / "made")
    item = json.loads((tmp_path / "made" / "items.jsonl").read_text())
    assert {item[label] for label in "ABCDE"} == {"stop", "pots", "stop!a", "stop!b", "stop!c"}
    assert item["distractors"] == "backwards"
    for call, sentence in (
        ('{ by = "backwards", time = 3 }', "unknown field `time`; its settings: times"),
        ('"broken"', "is no DistractorStrategy"),
        ('"backward"', "did you mean backwards"),
    ):
        templates.write_text(f"{template}distractors = [{call}]\n")
        with pytest.raises(UsageError, match=sentence):
            build_questions(out, templates, tmp_path / "other")
