"""The bundled benchmark of places: its tasks, what it asks, and what models of known skill get."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import snellen
from snellen.benchmarks.declaration.registry import open_benchmark
from snellen.benchmarks.places.eyechart_places import RULES
from snellen.core.benchmark import Variant
from snellen.core.errors import UsageError
from snellen.core.place import load_places
from snellen.core.sample import Sample


def samples_of(task: str, coordinates: str = "fractions") -> dict[str, Sample]:
    made = open_benchmark(f"eyechart-places:task={task},coordinates={coordinates}")
    return {sample.id: sample for sample in made.samples(made.open())}


@pytest.mark.parametrize(("task", "questions"), [("box", 65), ("point", 50), ("labels", 50), ("count", 45)])
def test_each_task_has_its_questions_with_gold_in_the_picture(task: str, questions: int) -> None:
    samples = samples_of(task)
    assert len(samples) == questions
    for sample in samples.values():
        gold = load_places(sample.gold[0])
        assert sample.kind == "place"
        assert gold.extent == sample.extent
        assert len(gold.labels) == (len(gold) if task == "labels" else 0)
        for box in gold.boxes:
            assert 0 <= box.left < box.right <= gold.extent[0]
            assert 0 <= box.top < box.bottom <= gold.extent[1]
    assert RULES[task].count == (1 if task in ("box", "point") else 0)


def test_an_unknown_task_is_refused_in_a_sentence() -> None:
    with pytest.raises(UsageError, match="box, point, labels, count"):
        open_benchmark("eyechart-places:task=mask")


class Painter:
    """Answers with the gold, in fractions; `swapped`: y before x; `scaled`: in thousandths."""

    def __init__(self, task: str, *, swapped: bool = False, scaled: bool = False) -> None:
        self.samples, self.swapped, self.scaled = samples_of(task), swapped, scaled

    def answer(self, request: snellen.Generate) -> str:
        sample = self.samples[request.ref.sample]
        gold = load_places(sample.gold[0])
        places = [self._numbers(box, gold.extent) for box in gold.boxes]
        if gold.labels:
            return json.dumps(
                [{"bbox_2d": one, "label": label} for one, label in zip(places, gold.labels, strict=True)]
            )
        return json.dumps(places[0] if len(places) == 1 else places)

    def _numbers(self, box: tuple[float, ...], extent: tuple[float, ...]) -> list[float]:
        shares = [number / extent[at % 2] for at, number in enumerate(box)]
        numbers = [round(1000 * share) if self.scaled else round(share, 4) for share in shares]
        return [numbers[at ^ 1] for at in range(4)] if self.swapped else numbers


def score(tmp_path: Path, task: str, model: object) -> tuple[float, dict[str, int], dict[str, float | None]]:
    done = snellen.evaluate(
        {"painter": model}, "eyechart-places", variant=Variant(options={"task": task}), out=tmp_path, html=False
    )
    summary = done.runs[0].report().summary
    values = {name: metric.value for name, metric in summary.metrics.items()}
    assert summary.headline.value is not None
    return summary.headline.value, {name: count for name, count in summary.outcomes.items() if count}, values


def test_gold_scores_all(tmp_path: Path) -> None:
    assert score(tmp_path, "box", Painter("box"))[:2] == (100.0, {"answered": 65})
    value, outcomes, metrics = score(tmp_path, "labels", Painter("labels"))
    assert (value, outcomes) == (100.0, {"answered": 50})
    assert metrics["map"] == pytest.approx(100.0)


def test_swapped_axes_are_right_in_few_pictures(tmp_path: Path) -> None:
    value, outcomes, _ = score(tmp_path, "box", Painter("box", swapped=True))
    assert value < 15
    assert outcomes == {"answered": 65}


def test_another_space_is_an_outcome_and_never_read(tmp_path: Path) -> None:
    value, outcomes, metrics = score(tmp_path, "box", Painter("box", scaled=True))
    assert (value, outcomes) == (0.0, {"other_space": 65})
    assert metrics["centre_place"] < 10
    assert metrics["whole_picture"] == 0.0
