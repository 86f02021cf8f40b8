"""Task vectors of the bundled early checkpoint: trained, kept, found again, compared."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import msgspec
import numpy as np
import pytest
from rich.console import Console
from training.drawn_tasks.write import TASKS, rows, write

from snellen.api.resolve_benchmarks import resolve_benchmark
from snellen.api.resolve_models import resolve_model
from snellen.api.task_map import TaskMapOptions, task_map
from snellen.cli import main
from snellen.core.benchmark import Variant
from snellen.core.errors import MissingExtra, UsageError
from snellen.models.hf import lora
from snellen.models.hf.lora import LoraOptions, target_layers, tune
from snellen.report.documents.taskmap import task_map_document
from snellen.report.writers.terminal import print_document
from snellen.taskmap import training
from snellen.taskmap.agreement import kendall_taus
from snellen.taskmap.findings import ControlMap, TaskMapFindings
from snellen.taskmap.mapping import measure_agreement
from snellen.taskmap.scores import TaskScores
from snellen.taskmap.tasks import MapControl, TaskSelection, load_tasks
from snellen.taskmap.training import TrainingInterrupted, VectorProgress
from snellen.taskmap.vectors import layer_names, read_facts

MODEL = "snellen/tiny-early"
ASKED = ["taskmap", "-m", MODEL, "-b", "eyechart", "--tasks", "kind=choice", "--tuning", "learning_rate=1e-3"]
PAIR = ["--only", "existence,position"]
HALVES = ["--tasks", "halves=yes", "--tuning", "epochs=1"]


@pytest.fixture(scope="module")
def mapped(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two abilities, two halves each, one epoch."""
    out = tmp_path_factory.mktemp("map")
    assert main([*ASKED, *PAIR, *HALVES, "--out", str(out), "-q"]) == 0
    return out


def findings(out: Path) -> TaskMapFindings:
    return msgspec.json.decode((out / "taskmap.json").read_bytes(), type=TaskMapFindings)


@pytest.mark.release
def test_halves_of_an_ability_are_nearer_than_two_abilities(mapped: Path) -> None:
    found = findings(mapped).map
    assert found is not None
    assert [task.task for task in found.tasks] == ["existence/1", "existence/2", "position/1", "position/2"]
    assert [one.task for one in found.halves if not one.apart] == ["existence", "position"]
    assert all(one.nearer_than == 1 for one in found.halves)
    assert found.tasks[0].after.loss < found.tasks[0].before.loss
    assert (found.layers, found.tasks[0].numbers) == (28, 81920)


def test_plots_are_pictures(mapped: Path) -> None:
    for name in ("dendrogram.svg", "distances.svg"):
        root = ElementTree.fromstring((mapped / name).read_text())
        words = [node.text for node in root.iter("{http://www.w3.org/2000/svg}text")]
        assert words.count("position/2") == (2 if name == "distances.svg" else 1)
    assert not (mapped / "tau.svg").exists()


def test_vectors_are_found_again_and_torn_ones_are_not(mapped: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = findings(mapped)
    vectors = sorted((mapped / "vectors").glob("*.safetensors"))
    assert len(vectors) == 4
    torn = vectors[0]
    whole = torn.read_bytes()
    torn.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
    assert read_facts(torn) is None
    again = [*ASKED, *PAIR, *HALVES, "--out", str(mapped)]
    assert main(again) == 0
    told = capsys.readouterr()
    assert told.err.count(", found") == 3
    assert "halves nearer to each other than to any other: 2 of 2" in told.out
    after = findings(mapped)
    assert before.map is not None
    assert after.map is not None
    for one, other in zip(before.map.distances, after.map.distances, strict=True):
        assert one == pytest.approx(other, abs=1e-4)
    torn.write_bytes(whole[: len(whole) // 2])
    assert read_facts(torn) is None
    torn.write_bytes(whole)


def test_the_model_is_left_as_it_was() -> None:
    import torch

    _, model = resolve_model(MODEL, {})
    loaded = model.load()
    tasks = load_tasks(
        resolve_benchmark("eyechart", Variant()), model.capabilities, TaskSelection(limit=8, only=("colour", "count"))
    )
    before = {name: value.clone() for name, value in loaded.model.state_dict().items()}
    wanted = {name: value.requires_grad for name, value in loaded.model.named_parameters()}
    how = LoraOptions(epochs=1, learning_rate=1e-3, batch_size=4)
    one, other = (tune(loaded, tasks.tasks[0].examples, how) for _ in range(2))
    after = loaded.model.state_dict()
    assert before.keys() == after.keys()
    assert all(torch.equal(before[name], after[name]) for name in before)
    assert wanted == {name: value.requires_grad for name, value in loaded.model.named_parameters()}
    assert one.before == other.before
    for name, factors in one.factors.items():
        assert factors.up == pytest.approx(other.factors[name].up, abs=1e-6)
        assert factors.down == pytest.approx(other.factors[name].down, abs=1e-6)


def test_trained_weights_are_the_products_of_the_factors(mapped: Path) -> None:
    """Adding `alpha / rank * up @ down` to the weights by hand gives the loss after training."""
    import torch
    from safetensors import safe_open

    _, model = resolve_model(MODEL, {})
    loaded = model.load()
    benchmark = resolve_benchmark("eyechart", Variant())
    tasks = load_tasks(
        benchmark, model.capabilities, TaskSelection(halves=True, kinds=("choice",), only=("existence", "position"))
    )
    found = findings(mapped).map
    assert found is not None
    by_name = {
        facts.task: path
        for path in (mapped / "vectors").glob("*.safetensors")
        if (facts := read_facts(path)) is not None
    }
    layers = dict(loaded.model.named_modules())
    kept = by_name["position/1"]
    with torch.no_grad(), safe_open(kept, framework="pt") as file:
        for name in layer_names(kept):
            down, up = (file.get_tensor(f"{name}.{half}") for half in ("down", "up"))
            layers[name].weight += 2 * up @ down
    (task,) = [one for one in tasks.tasks if one.name == "position/1"]
    measured = lora._ReplyLosses(loaded, "native").progress(task.examples, 16)
    (told,) = [one for one in found.tasks if one.task == "position/1"]
    assert measured.loss == pytest.approx(told.after.loss, abs=1e-3)
    assert measured.loss != pytest.approx(told.before.loss, abs=1e-2)


def test_halves_share_no_picture_and_have_all_samples() -> None:
    _, model = resolve_model(MODEL, {})
    benchmark = resolve_benchmark("eyechart", Variant())
    whole = load_tasks(benchmark, model.capabilities)
    split = load_tasks(benchmark, model.capabilities, TaskSelection(halves=True))
    halves = {task.name: task for task in split.tasks}
    assert len(halves) == 2 * len(whole.tasks) == 18
    for task in whole.tasks:
        one, other = halves[f"{task.name}/1"], halves[f"{task.name}/2"]
        assert len(one.examples) + len(other.examples) == len(task.examples)
        assert abs(len(one.examples) - len(other.examples)) <= 3
        shown = [{digest for lesson in half.examples for digest in lesson.request.media} for half in (one, other)]
        assert not shown[0] & shown[1]


def test_ctrl_c_keeps_what_is_finished(tmp_path: Path) -> None:
    def stop(finished: VectorProgress) -> None:
        raise KeyboardInterrupt

    settings = TaskMapOptions(
        choice=TaskSelection(only=("colour", "count"), limit=8), tuning=LoraOptions(epochs=1, batch_size=8)
    )
    with pytest.raises(TrainingInterrupted) as stopped:
        task_map(MODEL, "eyechart", options=settings, out=tmp_path, on_finished=stop)
    assert (stopped.value.done, stopped.value.total) == (1, 2)
    told: list[VectorProgress] = []
    task_map(MODEL, "eyechart", options=settings, out=tmp_path, on_finished=told.append)
    assert [one.cached for one in told] == [True, False]


def test_ctrl_c_prints_the_command_that_continues(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(training, "tune", stop)
    command = [*ASKED, *PAIR, "--out", str(tmp_path)]
    assert main(command) == 130
    told = capsys.readouterr().err
    assert "stopped; 0 of 2 vectors are kept" in told
    assert "continue with: snellen taskmap -m snellen/tiny-early" in told


@pytest.mark.parametrize(
    ("flags", "sentence"),
    [
        (["--group", "colour"], "eyechart has no group 'colour' to tell tasks by; its groups: cat"),
        (["--only", "colours"], "there is no task 'colours'; known: colour, count"),
        (["--tasks", "most=5"], "0 of 9 tasks have at least 8 samples with a gold answer"),
        (["--tuning", "epochs=0"], "--tuning epochs=0: expected a number above 0"),
        (["--tuning", "learning_rate=nan"], "--tuning learning_rate=nan: expected a number above 0"),
        ([*PAIR, "--tuning", "targets=head.*"], "no layer that can be tuned is named 'head.*'"),
        ([*PAIR, "--tuning", "targets=("], "'(' is not a regular expression"),
    ],
)
def test_mistakes_give_one_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], flags: list[str], sentence: str
) -> None:
    assert main([*ASKED, *flags, "--out", str(tmp_path)]) == 2
    told = capsys.readouterr().err
    assert sentence in told
    assert len(told.strip().splitlines()) == 1
    assert not (tmp_path / "taskmap.json").exists()


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ([], "there is nothing to do"),
        (["-m", MODEL], "a map needs a model and a benchmark"),
        (["-m", MODEL, "-b", "eyechart", "--map", "clusters=c.csv"], "looked at through scores"),
        (["-m", "random", "-b", "eyechart"], "random cannot be fine-tuned"),
        (["--scores", "absent.csv"], "cannot read absent.csv: No such file or directory"),
    ],
)
def test_command_mistakes_give_one_sentence(
    capsys: pytest.CaptureFixture[str], arguments: list[str], sentence: str
) -> None:
    assert main(["taskmap", *arguments]) == 2
    assert sentence in capsys.readouterr().err


def test_a_model_without_layers_to_tune() -> None:
    import torch

    _, model = resolve_model(MODEL, {})
    loaded = model.load()

    class Bare(torch.nn.Module):
        pass

    object.__setattr__(loaded, "model", Bare())
    with pytest.raises(UsageError, match="Bare has no linear layer in its language model"):
        target_layers(loaded, "language")


def test_the_missing_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    find = lora.importlib.util.find_spec
    monkeypatch.setattr(lora.importlib.util, "find_spec", lambda name: None if name == "peft" else find(name))
    with pytest.raises(MissingExtra, match=r"needs peft.*pip install 'snellen\[taskmap\]'"):
        task_map(MODEL, "eyechart")


def test_scores_of_runs_meet_the_map(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Two models' runs give tau by distance, clusters' accuracies and predictions."""
    runs = str(tmp_path / "runs")
    few = ["--limit", "120", "--no-html", "-q", "--out", runs]
    assert main(["run", "-m", "random", "-m", MODEL, "-b", "eyechart", *few]) == 0
    out = str(tmp_path / "map")
    mapping = [*ASKED, "--tasks", "most=8", "--tuning", "epochs=1", "--map", "clusters=2", "--out", out]
    tasks = ["--only", "existence,position,colour", "-q"]
    capsys.readouterr()
    assert main([*mapping, *tasks, "--runs", runs, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert sorted(found["agreement"]["models"]) == ["random", MODEL]
    assert len(found["agreement"]["clusters"]) == 2
    assert found["agreement"]["by_distance"][0]["pairs"] == 3
    assert len(found["agreement"]["prediction"]["left_out"]) == 3
    ElementTree.fromstring((tmp_path / "map" / "dendrogram.svg").read_text())


def test_models_are_held_against_a_map_of_halves_and_its_control(mapped: Path) -> None:
    """Two tasks are as far apart as their halves in the mean."""
    found = findings(mapped).map
    assert found is not None
    values = np.random.default_rng(0).normal(50, 9, (5, 4))
    names = ["existence", "position", "a", "b"]
    scores = TaskScores(tuple("vwxyz"), tuple(names), values)
    assert measure_agreement(scores, None, found).by_share[0].pairs == 1
    halves = [f"{name}/{half}" for name in names for half in (1, 2)]
    square = np.abs(np.subtract.outer(np.arange(8.0), np.arange(8.0)))
    tasks = tuple(msgspec.structs.replace(found.tasks[0], task=name) for name in halves)
    rows = tuple(tuple(row) for row in square.tolist())
    larger = msgspec.structs.replace(
        found,
        tasks=tasks,
        distances=rows,
        clusters=(("existence/1", "a/2"), ("position/1",)),
        control=ControlMap("wrong-image", tuple(row[::-1] for row in rows[::-1]), 0.1, ()),
    )
    agreement = measure_agreement(scores, None, larger)
    apart, pairs = square.reshape(4, 2, 4, 2).mean(axis=(1, 3)), np.triu_indices(4, 1)
    expected = np.corrcoef(apart[pairs], kendall_taus(values)[pairs])[0, 1]
    assert agreement.mantel == pytest.approx(expected)
    assert agreement.control_mantel == pytest.approx(agreement.mantel)
    assert sorted(task for one in agreement.clusters for task in one.tasks) == sorted(names)


@pytest.mark.parametrize("control", ["wrong-image", "shuffled-answers"])
def test_a_control_destroys_one_thing(control: MapControl) -> None:
    benchmark = resolve_benchmark("eyechart", Variant())
    able = resolve_model(MODEL, {})[1].capabilities
    selection = TaskSelection(kinds=("choice",), only=("position", "shape"), halves=True)
    real = load_tasks(benchmark, able, selection).tasks
    changed = load_tasks(benchmark, able, selection, 0, control).tasks
    assert [task.name for task in changed] == [f"{control}: {task.name}" for task in real]
    for own, other in zip(real, changed, strict=True):
        pairs = list(zip(own.examples, other.examples, strict=True))
        texts = [(one.request.text(), two.request.text()) for one, two in pairs]
        assert all(first == second for first, second in texts)
        same_pictures = [sorted(one.request.media) == sorted(two.request.media) for one, two in pairs]
        same_replies = [one.reply == two.reply for one, two in pairs]
        if control == "wrong-image":
            assert not any(same_pictures)
            assert all(same_replies)
        else:
            assert all(same_pictures)
            assert 0 < sum(same_replies) < len(pairs) * 0.6
    if control == "shuffled-answers":
        assert sorted(e.reply for t in real for e in t.examples) == sorted(e.reply for t in changed for e in t.examples)


def test_a_map_beside_its_control(tmp_path: Path) -> None:
    """The vectors of the map are found again; only those of the control are trained."""
    told = [*ASKED, *PAIR, *HALVES, "--tasks", "most=8", "--map", "clusters=2", "-q"]
    assert main([*told, "--out", str(tmp_path)]) == 0
    plain, vectors = findings(tmp_path).map, set((tmp_path / "vectors").iterdir())
    assert main([*told, "--map", "against=shuffled-answers", "--out", str(tmp_path)]) == 0
    found = findings(tmp_path).map
    assert len(set((tmp_path / "vectors").iterdir()) - vectors) == 4
    assert plain is not None
    assert found is not None
    assert (found.distances, found.halves) == (plain.distances, plain.halves)
    assert len(found.tasks) == 4
    control = found.control
    assert control is not None
    assert (control.control, len(control.halves)) == ("shuffled-answers", 2)
    both = [np.array(one)[np.triu_indices(4, 1)] for one in (found.distances, control.distances)]
    assert control.correlation == pytest.approx(np.corrcoef(*both)[0, 1])
    assert bool(found.clusters) != control.resembles_map
    assert sorted(name for names in control.clusters for name in names) == [task.task for task in found.tasks]
    assert (tmp_path / "control.svg").exists()


def test_clusters_are_withheld_from_a_map_of_wording(mapped: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A control that is the map itself, and one that is unrelated."""
    found = findings(mapped).map
    assert found is not None
    clusters = tuple((task.task,) for task in found.tasks)
    for correlation, withheld in ((0.71, True), (0.69, False), (None, False)):
        control = ControlMap("wrong-image", found.distances, correlation, clusters, found.halves)
        assert control.resembles_map == withheld
        shown = () if withheld else clusters
        document = task_map_document(TaskMapFindings(msgspec.structs.replace(found, clusters=shown, control=control)))
        print_document(document, Console(width=100))
        out = " ".join(capsys.readouterr().out.split())
        assert ("its clusters are withheld" in out) == withheld
        assert "control wrong-image: its distances correlate" in out
        assert "it places 2 of 2 halves together" in out


@pytest.mark.release
def test_map_of_five_drawn_tasks_differs_from_its_control(tmp_path: Path) -> None:
    """Five tasks of colours in five wordings: that of the control is a map of the same wordings."""
    names = {"nearest_object", "containment", "connected_path", "tallest_bar", "overlap_order"}
    tasks = tuple(task for task in TASKS if task.name in names)
    write(tmp_path / "drawn.tsv", rows(tasks, samples=40))
    assert (
        main(
            [
                "taskmap",
                "-m",
                MODEL,
                "-b",
                "mmt-bench",
                "--data",
                str(tmp_path / "drawn.tsv"),
                "--tasks",
                "halves=yes",
                "--tuning",
                "learning_rate=3e-4",
                "--map",
                "clusters=3,against=wrong-image",
                "--out",
                str(tmp_path),
                "-q",
            ]
        )
        == 0
    )
    found = findings(tmp_path).map
    assert found is not None
    assert found.control is not None
    assert len(found.control.halves) == 5
    assert found.control.correlation is not None
    assert 0.4 < found.control.correlation < 0.98
    assert bool(found.clusters) != found.control.resembles_map
