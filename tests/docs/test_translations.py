"""The Chinese pages have what the English ones have, and a change of either is noticed."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[2]


def load_translations() -> ModuleType:
    spec = importlib.util.spec_from_file_location("docs_translations", ROOT / "docs" / "translations.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


translations = load_translations()


@pytest.mark.parametrize(("name", "source"), translations.TRANSLATIONS.items())
def test_translations_are_in_step(name: str, source: str) -> None:
    page, original = ((ROOT / path).read_text(encoding="utf-8") for path in (name, source))
    assert translations.differences(page, original) == []


@pytest.mark.parametrize("name", translations.TRANSLATIONS)
def test_links_of_translations_lead_somewhere(name: str) -> None:
    page = ROOT / name
    for section in translations.sections(page.read_text(encoding="utf-8")):
        for link in section.links:
            if "://" not in link:
                assert (page.parent / link.partition("#")[0]).exists(), link


ENGLISH = "# Title\n\nA sentence, with [a link](page.md).\n\n```console\n$ snellen --version\n```\n"


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        ("A sentence", "Another sentence", "the English text has changed"),
        ("--version", "--help", "other code blocks"),
        ("page.md", "other.md", "other links"),
        ("# Title", "# Title\n\n## Part", "the headings differ"),
    ],
)
def test_a_change_of_the_original_is_noticed(old: str, new: str, sentence: str) -> None:
    translation = translations.synchronised(
        "# 标题\n\n一句话，[链接](page.md)。\n\n```console\n```\n", ENGLISH, mark=True
    )
    assert translations.differences(translation, ENGLISH) == []
    assert any(sentence in found for found in translations.differences(translation, ENGLISH.replace(old, new)))
