"""Every registered benchmark keeps what it declares: gold answers score its `oracle`, blank replies
its `blank`, over a small file in its own layout."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from snellen.benchmarks.declaration.registry import list_benchmarks, open_benchmark
from snellen.core.benchmark import Benchmark, Variant
from snellen.core.errors import UsageError
from snellen.core.output import Failure, Generated, Output
from snellen.core.request import Request
from snellen.core.sample import Sample
from snellen.core.summary import Summary
from snellen.engine.offline.gold_check import answer_samples, gold_reply

LAYOUTS = Path(__file__).parent / "layouts"
NAMES = [known.name for known in list_benchmarks()]
ROLES = ".roles"
"""Ends the stem of the file with the replies of other roles."""


class Layout(NamedTuple):
    """A file of the folder, and the variant of the benchmark that reads it."""

    path: Path
    benchmark: str
    options: dict[str, str]


def layouts() -> Iterator[Layout]:
    for path in sorted(LAYOUTS.iterdir()):
        name, at, told = path.name.partition("@")
        stem = name.split(".")[0] if not at else name
        if path.suffix == ".md" or f"{ROLES}." in path.name or path.is_dir():
            continue
        pairs = told.rsplit(".", 1)[0].split(",") if at else []
        yield Layout(path, stem, dict(pair.split("=", 1) for pair in pairs))


FILES = list(layouts())


def of(layout: Layout, judges: int = 0) -> Benchmark:
    variant = Variant(data=str(layout.path), options=layout.options, judges=judges)
    return open_benchmark(layout.benchmark, variant)


def roles(layout: Layout) -> dict[str, dict[str, str]]:
    file = LAYOUTS / f"{layout.benchmark}{ROLES}.json"
    return json.loads(file.read_text()) if file.exists() else {}


def rehearse(layout: Layout, reply: Callable[[Sample, Request], Output], kind: str) -> Summary:
    told = roles(layout)

    def elsewhere(request: Request) -> Output:
        said = told.get(request.to)
        return Generated(said[kind]) if said else Failure("missing", f"no role {request.to}")

    benchmark = of(layout, judges=int("judge" in told))
    samples = list(benchmark.samples(benchmark.open()))
    return benchmark.summarise(answer_samples(benchmark, samples, reply, elsewhere))


def variant_of(name: str, option: str, value: str) -> Benchmark | None:
    """The variant, or None where that value needs another option beside it, and says so."""
    try:
        return open_benchmark(name, Variant(options={option: value}))
    except UsageError as error:
        if option not in str(error):
            raise
        return None


@pytest.mark.parametrize("name", NAMES)
def test_declares_what_it_is(name: str) -> None:
    benchmark = open_benchmark(name)
    assert benchmark.name == name
    assert benchmark.version
    assert benchmark.title
    assert benchmark.headline
    assert benchmark.provenance
    assert benchmark.max_new_tokens > 0
    assert (benchmark.oracle is None) == bool(benchmark.unscorable)
    if name not in ("eyechart", "eyechart-pages", "eyechart-places"):
        assert benchmark.paper.startswith("https://")
    for option, values in benchmark.options.items():
        for value in values if len(values) <= 6 else values[:2]:
            made = variant_of(name, option, value)
            if made is not None:
                assert made.name == name
                assert (made.oracle is None) == bool(made.unscorable)


@pytest.mark.parametrize("name", NAMES)
def test_has_a_layout(name: str) -> None:
    assert name in {layout.benchmark for layout in FILES}, (
        f"no file {name}.tsv (or another suffix) in tests/benchmarks/layouts"
    )


@pytest.mark.parametrize("layout", FILES, ids=lambda layout: layout.path.name)
def test_gold_scores_the_oracle(layout: Layout) -> None:
    benchmark = of(layout, judges=int("judge" in roles(layout)))
    summary = rehearse(layout, gold_reply, "gold")
    assert summary.headline.name == benchmark.headline
    assert summary.total > 0
    if benchmark.oracle is None:
        assert summary.headline.value is None
        return
    assert summary.headline.value == pytest.approx(benchmark.oracle)
    assert benchmark.oracle <= summary.headline.top


@pytest.mark.parametrize("layout", FILES, ids=lambda layout: layout.path.name)
def test_blank_replies_score_blank(layout: Layout) -> None:
    benchmark = of(layout, judges=int("judge" in roles(layout)))
    summary = rehearse(layout, lambda *_: Generated(""), "blank")
    if benchmark.oracle is None:
        assert summary.headline.value is None
        return
    assert summary.headline.value == pytest.approx(benchmark.blank)
    assert summary.outcomes["answered"] == 0 or benchmark.blank > 0


@pytest.mark.parametrize("name", NAMES)
def test_reports_withheld_answers_before_asking(name: str) -> None:
    """A variant whose answers are withheld says so, in a sentence; data of one's own may have
    them."""
    for option, values in open_benchmark(name).options.items():
        for value in values[:6]:
            made = variant_of(name, option, value)
            if made is not None and made.unscorable:
                assert len(made.unscorable.split()) >= 5


OTHER_NAMES = (Path(__file__).parent / "names_of_other_tools.txt").read_text().split()
"""What VLMEvalKit, lmms-eval and papers call the benchmarks, a name a line."""


@pytest.mark.parametrize("name", OTHER_NAMES)
def test_names_of_other_tools_are_understood(name: str) -> None:
    assert open_benchmark(name).name in NAMES
