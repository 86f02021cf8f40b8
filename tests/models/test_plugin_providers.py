"""What an entry point of the group `snellen.models` may name."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from snellen.core.entry_points import plugin_entry_points
from snellen.core.errors import UsageError
from snellen.models.naming.plugins import plugin_providers
from snellen.models.naming.registry import all_options, find_provider, open_model, registered_models

MODULE = '''
from snellen.models.naming.provider import ModelListing, ModelOption, Provider
from snellen.models.random import Random

ECHO = Provider(
    name="echo",
    open=lambda name, options: Random(len(name)),
    options=(ModelOption("volume", "how loud"),),
    models=(ModelListing("echo/<word>", "Says it again."),),
)
PAIR = (Provider(name="left", open=ECHO.open), Provider(name="right", open=ECHO.open))


def dice(name, options):
    """Rolls one of its sides."""
    return Random(6)


class Fixed:
    """Always the same."""

    def __init__(self, word="A"):
        self.word = word

    def answer(self, request):
        return self.word


NUMBER = 7
'''
ENTRIES = """[snellen.models]
echo = plugins_of_a_test:ECHO
pair = plugins_of_a_test:PAIR
dice = plugins_of_a_test:dice
fixed = plugins_of_a_test:Fixed
number = plugins_of_a_test:NUMBER
absent = plugins_of_a_test:ABSENT
random = plugins_of_a_test:NUMBER
"""


@pytest.fixture(autouse=True)
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A package with these entry points, installed as pip would."""
    (tmp_path / "plugins_of_a_test.py").write_text(MODULE)
    metadata = tmp_path / "plugins_of_a_test-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: plugins-of-a-test\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text(ENTRIES)
    monkeypatch.syspath_prepend(str(tmp_path))
    caches = (plugin_entry_points, plugin_providers)
    for cached in caches:
        cached.cache_clear()
    yield
    sys.modules.pop("plugins_of_a_test", None)
    for cached in caches:
        cached.cache_clear()


@pytest.mark.parametrize(
    ("spec", "seed"), [("echo/abc", "3"), ("left/abcd", "4"), ("right/a", "1"), ("dice/x", "6"), ("random", "0")]
)
def test_a_provider_a_tuple_of_them_and_a_function_open_models(spec: str, seed: str) -> None:
    assert open_model(spec).identity.facts == {"seed": seed}


def test_plug_in_providers_are_listed() -> None:
    titles = {listing.name: listing.title for listing in registered_models()}
    assert titles["echo/<word>"] == "Says it again."
    assert titles["dice/<model>"] == "Rolls one of its sides."
    assert titles["fixed"] == "Always the same."
    assert "ABSENT" in titles["absent"]


def test_options_are_those_of_the_value_or_of_the_class() -> None:
    echo, fixed = find_provider("echo"), find_provider("fixed")
    assert echo is not None
    assert fixed is not None
    assert [option.name for option in echo.options] == ["volume"]
    assert [option.name for option in fixed.options] == ["word"]
    assert {"volume", "word"} <= {option.name for option in all_options()}


@pytest.mark.parametrize(
    ("spec", "sentence"),
    [
        ("number/x", "is of type int; expected a Provider"),
        ("absent/x", "cannot be loaded"),
        ("fixed:colour=red", "known options: word"),
        ("fixed/x", "did you mean fixed?"),
    ],
)
def test_a_wrong_plug_in_gets_one_sentence(spec: str, sentence: str) -> None:
    with pytest.raises(UsageError, match=sentence.replace("?", r"\?")):
        open_model(spec)
