"""Every option that a benchmark takes is declared and explained."""

from __future__ import annotations

import pytest

from snellen.benchmarks.declaration.option_docs import option_docs, option_meanings
from snellen.benchmarks.declaration.registry import list_benchmarks, open_benchmark
from snellen.core.errors import UnknownName

NAMES = [known.name for known in list_benchmarks()]


def test_an_option_that_is_not_declared_is_refused_with_the_nearest() -> None:
    with pytest.raises(UnknownName, match=r"option of mlvu 'frame'; did you mean frames\?"):
        open_benchmark("mlvu:frame=8")


@pytest.mark.parametrize("spec", ["mme:reading=paper", "pope:category=popular", "mlvu:edge=448"])
def test_a_declared_option_is_taken(spec: str) -> None:
    name, _, value = spec.partition("=")
    name, _, key = name.partition(":")
    assert open_benchmark(spec).parameters[key] == value


@pytest.mark.parametrize("name", NAMES)
def test_every_option_has_a_meaning(name: str) -> None:
    assert set(open_benchmark(name).options) <= set(option_meanings())


def test_every_meaning_belongs_to_an_option() -> None:
    declared = {option for name in NAMES for option in open_benchmark(name).options}
    assert set(option_meanings()) == declared


def test_plug_in_option_is_documented_by_its_values() -> None:
    (facts,) = option_docs({"flavour": ("sweet", "sour")})
    assert facts == ("flavour", "sweet", "`sweet`, `sour`", "")
