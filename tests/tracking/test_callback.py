"""`SnellenCallback` in the Trainer of transformers: it measures, and training does not notice."""

from __future__ import annotations

import math
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from small_training import new_trainer, random_states

from snellen.core.errors import UnknownName, UsageError
from snellen.tracking import SnellenCallback, read_curve

pytestmark = pytest.mark.filterwarnings("ignore::FutureWarning:transformers")
LIMIT = 4


class Witness:
    """Generators of random numbers at the end of a training."""

    def __init__(self, trainer: Any) -> None:
        trainer.train()
        self.weights = {name: value.clone() for name, value in trainer.model.state_dict().items()}
        self.random = random_states()
        self.modes = [module.training for module in trainer.model.modules()]
        self.losses = [entry["loss"] for entry in trainer.state.log_history if "loss" in entry]


def test_training_is_the_same_to_the_bit(tmp_path: Path) -> None:
    plain = Witness(new_trainer(tmp_path / "plain"))
    callback = SnellenCallback("eyechart", limit=LIMIT, html=False)
    trainer = new_trainer(tmp_path / "measured", callback)
    settings = trainer.model.generation_config
    measured = Witness(trainer)
    assert len(callback.curve.points) == 3
    assert measured.losses == plain.losses
    assert measured.random == plain.random
    for name, value in plain.weights.items():
        assert torch.equal(value, measured.weights[name]), name
    assert measured.modes == plain.modes
    assert trainer.model.generation_config is settings
    assert (tmp_path / "measured" / "snellen" / "curve.html").exists()


def test_scores_choose_the_best_checkpoint_and_are_logged(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    logs = tmp_path / "logs"
    callback = SnellenCallback("eyechart", limit=LIMIT, html=False, tracks=[f"tensorboard:{logs}"], group="category")
    trainer = new_trainer(
        tmp_path / "out",
        callback,
        save_strategy="steps",
        save_steps=1,
        save_total_limit=2,
        metric_for_best_model="snellen/eyechart",
        greater_is_better=True,
        load_best_model_at_end=True,
        max_steps=2,
    )
    trainer.train()
    scored = [entry for entry in trainer.state.log_history if "snellen/eyechart" in entry]
    assert [entry["step"] for entry in scored] == [1, 2]
    assert all(entry["snellen/eyechart_low"] <= entry["snellen/eyechart"] for entry in scored)
    best = max(scored, key=lambda entry: (entry["snellen/eyechart"], -entry["step"]))
    assert trainer.state.best_metric == best["snellen/eyechart"]
    assert trainer.state.best_model_checkpoint.endswith(f"checkpoint-{best['step']}")
    curve = read_curve(tmp_path / "out" / "snellen")
    assert [point.score for point in curve.points] == [e["snellen/eyechart"] for e in scored]
    assert curve.points[1].sentence in capsys.readouterr().err
    assert list(logs.glob("out/events.*"))
    # The weights are those of the best checkpoint now: they are asked anew.
    after = trainer.evaluate()
    assert after["eval_snellen/eyechart"] == pytest.approx(best["snellen/eyechart"])
    assert len(read_curve(tmp_path / "out" / "snellen").points) == 2


@pytest.mark.parametrize("when", [2, "save"])
def test_with_the_trainer_scores_go_wherever_it_reports(tmp_path: Path, when: Any) -> None:
    trainer = new_trainer(
        tmp_path / "out",
        report_to=["tensorboard"],
        max_steps=2,
        eval_strategy="no",
        **({"save_strategy": "steps", "save_steps": 2} if when == "save" else {}),
    )
    callback = SnellenCallback("eyechart", when=when, limit=LIMIT, html=False, trainer=trainer)
    trainer.add_callback(callback)
    trainer.train()
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    (folder,) = {path.parent for path in tmp_path.rglob("events.out*")}
    events = EventAccumulator(str(folder))
    events.Reload()
    assert [one.step for one in events.Scalars("train/snellen/eyechart")] == [2]


def test_callback_errors_are_warnings_without_a_score(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").write_text("")
    callback = SnellenCallback("eyechart", limit=LIMIT, store=tmp_path / "file" / "store.sqlite")
    trainer = new_trainer(
        tmp_path / "out",
        callback,
        max_steps=1,
        save_strategy="steps",
        save_steps=1,
        metric_for_best_model="snellen/eyechart",
    )
    trainer.train()
    assert "snellen: step 1 was not evaluated: " in capsys.readouterr().err
    assert math.isnan(trainer.evaluate()["eval_snellen/eyechart"])


def test_mistakes_are_found_before_the_first_step(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="when is 'often'; expected 'evaluate', 'save' or a num"):
        SnellenCallback("eyechart", when="often")  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="RunOptions has no field 'limits'"):
        SnellenCallback("eyechart", limits=4)
    trainer = new_trainer(tmp_path, SnellenCallback("eyechrat"))
    with pytest.raises(UnknownName, match="did you mean eyechart"):
        trainer.train()
    trainer = new_trainer(tmp_path, SnellenCallback("eyechart"))
    trainer.callback_handler.processing_class = None
    with pytest.raises(UsageError, match="needs the model's processor"):
        trainer.train()


@pytest.mark.parametrize(
    ("when", "settings", "sentence"),
    [
        ("evaluate", {"eval_strategy": "no"}, 'eval_strategy is "no"'),
        ("save", {"save_strategy": "no"}, 'save_strategy is "no"'),
        (100, {}, "when is 100 and the training has 2 steps"),
        ("evaluate", {}, ""),
    ],
)
def test_reports_callback_that_never_evaluates(
    when: Any, settings: dict[str, Any], sentence: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    callback = SnellenCallback("eyechart", when=when, limit=1, html=False)
    new_trainer(tmp_path, callback, max_steps=2, **settings).train()
    said = capsys.readouterr().err
    assert sentence in said
    assert ("never evaluates" in said or "nor does this" in said) == bool(sentence)


def test_without_transformers_it_names_the_extra() -> None:
    code = "import sys; sys.modules['transformers'] = None; import snellen.tracking.callback"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert "MissingExtra: SnellenCallback needs transformers" in done.stderr
    assert "pip install 'snellen[hf]'" in done.stderr


DISTRIBUTED = """
import sys
from pathlib import Path
sys.path.insert(0, {tests!r})
from small_training import new_trainer
from snellen.tracking import SnellenCallback
callback = SnellenCallback("eyechart", limit=4, html=False)
trainer = new_trainer(Path({out!r}), callback, max_steps=2, save_strategy="steps", save_steps=1,
    metric_for_best_model="snellen/eyechart", ddp_backend="gloo", ddp_find_unused_parameters=True)
trainer.train()
rank = trainer.args.process_index
(Path({out!r}) / f"rank-{{rank}}").write_text(
    f"{{trainer.state.best_metric}} {{len(callback.curve.points) if callback.curve else 0}}")
"""


@pytest.mark.release
def test_only_one_process_of_distributed_training_evaluates(tmp_path: Path) -> None:
    script = tmp_path / "train.py"
    script.write_text(DISTRIBUTED.format(tests=str(Path(__file__).parent), out=str(tmp_path)))
    command = [
        sys.executable,
        "-m",
        "torch.distributed.run",
        "--nproc-per-node",
        "2",
        "--master-port",
        "29611",
        str(script),
    ]
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=500, env={**os.environ, "OMP_NUM_THREADS": "1"}
    )
    assert done.returncode == 0, done.stderr[-3000:]
    first, second = ((tmp_path / f"rank-{rank}").read_text().split() for rank in (0, 1))
    assert first[0] == second[0] != "None"
    assert (first[1], second[1]) == ("2", "0")
