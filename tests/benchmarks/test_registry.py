"""Every registered benchmark says what it is; every alias leads somewhere, and only once."""

from __future__ import annotations

from collections import Counter

import pytest

from snellen.benchmarks.declaration.registry import list_benchmarks, open_benchmark
from snellen.core.errors import UnknownName, UsageError

KNOWN = list_benchmarks()
ALIASES = [alias for known in KNOWN for alias in known.aliases]


@pytest.mark.parametrize("name", [known.name for known in KNOWN])
def test_a_benchmark_says_what_it_is(name: str) -> None:
    benchmark = open_benchmark(name)
    assert benchmark.name == name
    assert benchmark.title
    assert benchmark.version
    assert benchmark.provenance
    assert set(benchmark.options) >= set(benchmark.parameters) & set(benchmark.options)
    if name not in ("eyechart", "eyechart-pages", "eyechart-places"):
        assert benchmark.paper.startswith("https://")


@pytest.mark.parametrize("alias", ALIASES)
def test_other_tools_names_lead_to_a_variant(alias: str) -> None:
    (home,) = [known.name for known in KNOWN if alias in known.aliases]
    assert open_benchmark(alias).name == home
    if [other.lower() for other in ALIASES].count(alias.lower()) == 1:
        assert open_benchmark(alias.upper()).name == home


@pytest.mark.parametrize(
    ("spelt", "name"),
    [
        ("COCO Caption", "coco-caption"),
        ("SEEDBench2-Plus", "seedbench"),
        ("TaskMeAnything ImageQA", "taskmeanything"),
        ("MT-VQA", "mtvqa"),
        ("MM-Star", "mmstar"),
    ],
)
def test_hyphens_and_blanks_do_not_matter(spelt: str, name: str) -> None:
    assert open_benchmark(spelt).name == name
    with pytest.raises(UnknownName):
        open_benchmark(f"{spelt}x")


def test_no_name_means_two_things() -> None:
    names = Counter([known.name for known in KNOWN] + ALIASES)
    assert [name for name, count in names.items() if count > 1] == []
    with pytest.raises(UsageError, match="may mean MMBench_DEV_EN or MMBench_dev_en"):
        open_benchmark("mmbench_dev_EN")


def test_unknown_names_and_options_give_a_sentence() -> None:
    with pytest.raises(UnknownName, match="did you mean mmbench"):
        open_benchmark("mmbnch")
    with pytest.raises(UsageError, match="expected one of dev, test"):
        open_benchmark("mmbench:split=train")
    with pytest.raises(UsageError, match="is not of the form key=value"):
        open_benchmark("mmbench:split=")
