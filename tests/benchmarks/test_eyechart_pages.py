"""The bundled benchmark of pages: its tasks, what models of known skill get, and that controls fail."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import snellen
from snellen.benchmarks.declaration.registry import open_benchmark
from snellen.benchmarks.documents.eyechart_pages import SCHEMA
from snellen.core.benchmark import Variant
from snellen.core.errors import UsageError
from snellen.core.page import load_page
from snellen.core.sample import Sample
from snellen.core.summary import Summary


def samples_of(task: str) -> dict[str, Sample]:
    made = open_benchmark(f"eyechart-pages:task={task}")
    return {sample.id: sample for sample in made.samples(made.open())}


class Scribe:
    """Writes what is on the picture that it is shown, which it knows by its bytes; nothing without one."""

    def __init__(self, task: str, spoil: str = "") -> None:
        self.known = {sample.media[0].digest: sample for sample in samples_of(task).values()}
        self.spoil, self.schema = spoil, ""

    def answer(self, request: snellen.Generate) -> str:
        self.schema = request.settings.response_schema
        digests = [part.digest for message in request.messages for part in message.media()]
        if not digests:
            return "I see no page."
        sample = self.known[digests[-1]]
        written = sample.written_gold(sample.gold[0])
        return written.replace(*self.spoil.split("|")) if self.spoil else written


def summary_of(tmp_path: Path, task: str, model: object, **variant: object) -> Summary:
    chosen = Variant(options={"task": task}, **variant)
    done = snellen.evaluate({"scribe": model}, "eyechart-pages", variant=chosen, out=tmp_path, html=False)
    return done.runs[0].report().summary


@pytest.mark.parametrize(("task", "kind", "questions"), [("page", "page", 120), ("record", "fields", 50)])
def test_each_task_has_its_questions(task: str, kind: str, questions: int) -> None:
    samples = samples_of(task)
    assert len(samples) == questions
    assert {sample.kind for sample in samples.values()} == {kind}
    assert {sample.groups["language"] for sample in samples.values()} == {"English", "Chinese"}
    assert len({sample.media[0].digest for sample in samples.values()}) == questions


def test_gold_pages_have_the_blocks_of_their_layout() -> None:
    for sample in samples_of("page").values():
        blocks = load_page(sample.gold[0]).blocks
        kinds = {block.kind for block in blocks}
        layout = sample.groups["category"]
        assert ("table" in kinds) == (layout in ("table", "mixed"))
        assert ("formula" in kinds) == (layout in ("formula", "mixed"))
        assert [block.optional for block in blocks[:-1]] == [False] * (len(blocks) - 1)


def test_gold_records_follow_the_schema_that_is_asked_for() -> None:
    from jsonschema import Draft202012Validator

    validator = Draft202012Validator(dict(SCHEMA))
    for sample in samples_of("record").values():
        validator.validate(json.loads(sample.gold[0]))


def test_an_unknown_task_is_refused_in_a_sentence() -> None:
    with pytest.raises(UsageError, match="page, record"):
        open_benchmark("eyechart-pages:task=form")


def test_a_page_as_drawn_scores_all_and_baselines_little(tmp_path: Path) -> None:
    summary = summary_of(tmp_path, "page", Scribe("page"))
    values = {name: metric.value for name, metric in summary.metrics.items()}
    assert summary.headline.name == "page_score"
    for name in ("page_score", "text_similarity", "formula_edit_similarity", "teds", "reading_order"):
        assert values[name] == pytest.approx(100.0), name
    assert values["empty_page"] == 0
    assert 0 <= values["frequent_words"] < 10


def test_a_record_as_drawn_scores_all_and_frequent_values_little(tmp_path: Path) -> None:
    scribe = Scribe("record")
    summary = summary_of(tmp_path, "record", scribe)
    assert json.loads(scribe.schema) == SCHEMA
    values = {name: metric.value for name, metric in summary.metrics.items()}
    assert values["field_f1"] == values["follows_schema"] == 100.0
    assert 5 < values["frequent_fields"] < 30
    spoilt = summary_of(tmp_path, "record", Scribe("record", '"total"|"sum"'))
    assert 75 < spoilt.headline.value < 95
    assert spoilt.metrics["invented_fields"].value > 5
    assert spoilt.groups["field"]["total"].value == 0


@pytest.mark.parametrize("task", ["page", "record"])
@pytest.mark.parametrize(("control", "most"), [("blind", 0.0), ("wrong-image", 45.0)])
def test_controls_fail(tmp_path: Path, task: str, control: str, most: float) -> None:
    summary = summary_of(tmp_path, task, Scribe(task), control=control)
    assert summary.headline.value <= most
