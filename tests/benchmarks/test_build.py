"""Every kind of benchmark is one `Declaration`, found by its module and built in one order."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from snellen.benchmarks.declaration.build import build
from snellen.benchmarks.declaration.data_file import data_file_declaration
from snellen.benchmarks.declaration.declaration import Declaration
from snellen.benchmarks.declaration.registry import benchmark_sources, open_benchmark
from snellen.benchmarks.declaration.toml import load_declaration
from snellen.core.benchmark import Benchmark, Variant
from snellen.core.output import Failure, Generated
from snellen.engine.offline.gold_check import answer_samples

HEADER = "index\tquestion\tA\tB\tanswer\n"


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "colours.tsv"
    rows = "".join(f"{n}\tIs {n} red?\tyes, {n}\tno, {n}\tA\n" for n in range(6))
    path.write_text(HEADER + rows)
    return path


@pytest.mark.parametrize("name", sorted(benchmark_sources()))
def test_built_in_benchmarks_are_declarations_named_as_their_module(name: str) -> None:
    source = benchmark_sources()[name]()
    assert isinstance(source, Declaration)
    assert source.name == name


def test_listing_names_opens_no_family() -> None:
    program = (
        "import sys\n"
        "from snellen.benchmarks.declaration.registry import benchmark_sources\n"
        "assert {'blink', 'mmstar'} <= benchmark_sources().keys()\n"
        "print('snellen.benchmarks.perception.blink' in sys.modules)\n"
        "print('snellen.benchmarks.declaration.family_file' in sys.modules)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("False\nFalse\n", "")


def test_a_description_in_toml_is_the_same_value(table: Path) -> None:
    path = table.with_suffix(".toml")
    path.write_text('data = "colours.tsv"\n')
    described, plain = load_declaration(str(path)), data_file_declaration(str(table))
    assert isinstance(described, Declaration)
    assert described.name == plain.name == "colours"
    assert described.scoring.rules == plain.scoring.rules


def test_steps_are_applied_in_order_and_once(table: Path) -> None:
    """Examples are excluded before options are shuffled; the gate is over the finished summary."""
    variant = Variant(options={"shots": "2"}, control="shuffled-options:1", failures="withhold>20%")
    benchmark = build(data_file_declaration(str(table)), variant)
    assert benchmark.parameters["control"] == "shuffled-options:1"
    assert benchmark.parameters["shots_from"] == "aside"
    samples = list(benchmark.samples(benchmark.open()))
    assert len(samples) == 4
    assert {sample.options[sample.gold[0]] for sample in samples} == {f"yes, {sample.id}" for sample in samples}

    def reply(sample, request):
        failed = sample.id == samples[0].id
        return Failure("server", "down") if failed else Generated(sample.gold[0])

    summary = benchmark.summarise(answer_samples(benchmark, samples, reply))
    assert summary.headline.value is None
    assert "more than 20 %" in summary.headline.note


def test_a_factory_and_a_finished_benchmark_go_through_the_same_steps(table: Path) -> None:
    declaration = data_file_declaration(str(table))

    def factory(variant: Variant) -> Benchmark:
        return replace(declaration(variant), title="mine")

    variant = Variant(options={"shots": "1"}, control="shuffled-options:2")
    made = build(factory, variant)
    assert (made.title, made.parameters["shots"]) == ("mine", "1")
    finished = build(declaration(Variant()), Variant(control="shuffled-options:2"))
    assert made.parameters["control"] == finished.parameters["control"] == "shuffled-options:2"
    assert open_benchmark(f"{table}:shots=1,control=shuffled-options:2").parameters == made.parameters
