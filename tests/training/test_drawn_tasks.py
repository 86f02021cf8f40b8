"""The drawn tasks as a benchmark in MMT-Bench's layout, and their map."""

from __future__ import annotations

import base64
import io
import random
from collections import Counter
from pathlib import Path
from xml.etree import ElementTree

import msgspec
import pytest
from PIL import Image
from training.drawn_tasks.check import main as check_main
from training.drawn_tasks.task import SIDE
from training.drawn_tasks.write import TASKS, rows, write

from snellen import evaluate
from snellen.cli import main
from snellen.core.benchmark import Variant
from snellen.taskmap.findings import TaskMapFindings

CELLS = rows(samples=8)


def test_at_least_thirty_tasks_with_names_of_their_own() -> None:
    names = [task.name for task in TASKS]
    assert len(set(names)) == len(names) >= 30
    questions = [task.ask(random.Random(1)).text.split()[0:4] for task in TASKS]
    assert len({" ".join(words) for words in questions}) == len(TASKS)


@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.name)
def test_every_answer_is_one_of_its_own(task: object) -> None:
    rng = random.Random(5)
    answers: Counter[str] = Counter()
    for _ in range(60):
        asked = task.ask(rng)  # type: ignore[attr-defined]
        assert asked.picture.size == (SIDE, SIDE)
        assert asked.answer not in asked.wrong
        assert len(set(asked.wrong)) == len(asked.wrong) >= 1
        answers[asked.answer] += 1
    assert answers.most_common(1)[0][1] < 45, "nobody can guess it by the answer alone"


def test_the_rows_are_those_of_a_benchmark(tmp_path: Path) -> None:
    assert Counter(cell["category"] for cell in CELLS) == dict.fromkeys((task.name for task in TASKS), 8)
    for task in TASKS:
        own = [cell for cell in CELLS if cell["category"] == task.name]
        assert len({cell["image"] for cell in own}) == 8
        for judged in (False, True):
            labels = Counter(cell["answer"] for cell in own if judged == ("C" not in cell))
            assert not labels or max(labels.values()) - min(labels.values()) <= 2
    picture = Image.open(io.BytesIO(base64.b64decode(CELLS[0]["image"])))
    assert picture.size == (SIDE, SIDE)
    assert rows(samples=8) == CELLS
    assert rows(samples=8, seed=1) != CELLS
    path = tmp_path / "drawn.tsv"
    write(path, CELLS)
    (run,) = evaluate(["random"], ["mmt-bench"], out=tmp_path / "out", variant=Variant(data=str(path))).runs
    assert run.info.counts.done == len(CELLS)
    assert set(run.report().summary.groups["category"]) == {task.name for task in TASKS}


@pytest.fixture(scope="module")
def mapped(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two tasks with halves of 8 samples, two seeds, one epoch."""
    folder = tmp_path_factory.mktemp("map")
    write(folder / "drawn.tsv", rows(TASKS[:2], samples=16))
    assert (
        main(
            [
                "taskmap",
                "-m",
                "snellen/tiny-early",
                "-b",
                "mmt-bench",
                "-q",
                "--data",
                str(folder / "drawn.tsv"),
                "--tasks",
                "halves=yes",
                "--map",
                "seeds=2",
                "--tuning",
                "epochs=1,learning_rate=3e-4",
                "--out",
                str(folder),
            ]
        )
        == 0
    )
    return folder


def test_each_seed_has_a_map_of_its_own(mapped: Path) -> None:
    document = (mapped / "taskmap.json").read_bytes()
    found = msgspec.json.decode(document, type=TaskMapFindings).map
    assert found is not None
    assert [each.seed for each in found.by_seed] == [0, 1]
    assert [each.tested for each in found.by_seed] == [2, 2]
    for row, (first, second) in enumerate(zip(*(each.distances for each in found.by_seed), strict=True)):
        means = [(one + two) / 2 for one, two in zip(first, second, strict=True)]
        assert found.distances[row] == pytest.approx(means, abs=2e-6)
    (pair,) = found.stability
    assert tuple(each.failing for each in found.by_seed) == pair.failing
    svg = ElementTree.fromstring((mapped / "seeds.svg").read_text())
    words = ["".join(node.itertext()) for node in svg.iter("{http://www.w3.org/2000/svg}text")]
    for each in found.by_seed:
        assert f"seed {each.seed}: {2 - len(each.failing)} of 2 tasks" in words


@pytest.mark.parametrize(("least", "code"), [("0", 0), ("1.01", 1)])
def test_the_check_of_the_share(least: str, code: int, mapped: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert check_main([str(mapped / "taskmap.json"), "--least", least]) == code
    assert "seed 1: " in capsys.readouterr().out
