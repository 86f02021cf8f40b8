"""Protocol cards: every benchmark still is what its card of this version says, and no part can
change unnoticed."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest

from snellen.analysis.card_file import (
    CanonicalFile,
    canonical_files,
    card_of,
    complaint,
    rewrite_cards,
    stored_card,
    stored_cards,
)
from snellen.analysis.cards import PARTS, build_card
from snellen.api.evaluation import evaluate
from snellen.benchmarks.declaration.registry import list_benchmarks, open_benchmark
from snellen.benchmarks.protocol.flows import AskConfig, SinglePassFlow
from snellen.cli.main import main
from snellen.core.benchmark import Benchmark, Variant
from snellen.core.record import Record
from snellen.core.request import Generation
from snellen.core.sample import Sample
from snellen.core.summary import Summary
from snellen.prompts.choice import PromptTemplate
from snellen.report.page.facts import fact_sections

LAYOUTS = Path(__file__).parents[1] / "benchmarks" / "layouts"
CANONICAL = list(canonical_files(LAYOUTS))


@pytest.mark.parametrize("canonical", CANONICAL, ids=lambda one: one.key)
def test_a_benchmark_is_what_its_card_says(canonical: CanonicalFile) -> None:
    assert complaint(card_of(canonical), stored_cards().get(canonical.key)) == ""


def test_every_benchmark_has_a_card() -> None:
    assert {known.name for known in list_benchmarks()} <= set(stored_cards())


def canonical(key: str) -> CanonicalFile:
    return next(one for one in CANONICAL if one.key == key)


def opened(key: str) -> Benchmark:
    return open_benchmark(key, Variant(data=str(canonical(key).path)))


def drop_the_number(sample: Sample) -> Sample:
    return msgspec.structs.replace(sample, media=())


def halved(summarise: Callable[[Sequence[Record]], Summary]) -> Callable[[Sequence[Record]], Summary]:
    def summary(records: Sequence[Record]) -> Summary:
        return summarise(records[: len(records) // 2])

    return summary


CHANGES: dict[str, Callable[[Benchmark], Benchmark]] = {
    "prompt": lambda one: replace(
        one, flow=SinglePassFlow(AskConfig(Generation(max_new_tokens=512), template=PromptTemplate(choose="Go.")))
    ),
    "decoding": lambda one: replace(
        one, flow=SinglePassFlow(AskConfig(Generation(max_new_tokens=512, temperature=0.5)))
    ),
    "media": lambda one: replace(one, prepare=drop_the_number),
    "reader": lambda one: replace(one, flow=open_benchmark("mmstar", Variant(rule="vlmevalkit")).flow),
    "metric": lambda one: replace(one, summarise=halved(one.summarise)),
    "data": lambda one: replace(one, provenance="elsewhere"),
}


@pytest.mark.parametrize("part", CHANGES)
def test_a_change_of_a_part_needs_a_new_version(part: str) -> None:
    plain = opened("mmstar")

    def card(benchmark: Benchmark) -> object:
        return build_card(benchmark, benchmark.open())

    before = build_card(plain, plain.open())
    changed = CHANGES[part](plain)
    after = build_card(changed, changed.open())
    assert after.parts[part] != before.parts[part]
    assert after.digest != before.digest
    said = complaint(after, before)
    assert part in said
    assert "raise the version" in said
    raised = msgspec.structs.replace(after, version=str(int(before.version) + 1))
    assert "out of date" in complaint(raised, before)
    assert card(plain) == before


def test_a_rubric_of_a_judge_is_a_part() -> None:
    judged = [key for key, card in stored_cards().items() if card.judge]
    assert judged
    nobody = stored_cards()["mmstar"].parts["judge"]
    assert all(stored_cards()[key].parts["judge"] != nobody for key in judged)


def test_renewing_keeps_what_needs_a_new_version(tmp_path: Path) -> None:
    """A changed canonical file renews the card; the file that comes with the package is whole."""
    folder = tmp_path / "layouts"
    folder.mkdir()
    source = canonical("mmstar").path
    text = source.read_text()
    (folder / source.name).write_text(text.replace("A", "A", 1) + "\n")
    assert rewrite_cards(folder, tmp_path / "cards.json") == []
    written = json.loads((tmp_path / "cards.json").read_text())
    assert set(written) == {"mmstar"}
    assert set(written["mmstar"]["parts"]) == set(PARTS)
    assert stored_card("mmstar", "0") is None


def test_the_command_prints_the_card(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert main(["info", "mmstar", "--card"]) == 0
    told = capsys.readouterr().out
    assert stored_cards()["mmstar"].digest in told
    assert "greedy" in told
    own = tmp_path / "q.tsv"
    own.write_text("index\tquestion\tanswer\n1\tIs it?\tYes\n")
    assert main(["info", str(own), "--card", "--json"]) == 0
    card = json.loads(capsys.readouterr().out)
    assert card["example"].startswith("Is it?")
    assert main(["info", "mmstars", "--card"]) == 2


def test_reports_print_the_card_digest(tmp_path: Path) -> None:
    (run,) = evaluate(["random"], ["eyechart"], limit=4, out=tmp_path).runs
    facts = {
        group.title: {one.name: one.value for one in group.facts} for group in fact_sections(run.report(), run.path)
    }
    assert facts["Protocol card"]["card digest"] == stored_cards()["eyechart"].digest
    assert stored_cards()["eyechart"].digest in (run.path / "report.html").read_text()
