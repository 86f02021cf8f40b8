"""`make gpu`: its steps are kept, left out or failed by themselves, and a second call goes on."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))

import benchmarks.gpu.__main__ as hour  # noqa: E402
from benchmarks.gpu.steps import Plan, Step  # noqa: E402

FIGURE = {"name": "small: reference A", "unit": "samples/s", "value": 2.0, "low": 2.0, "high": 2.0, "repeats": 1}


def step(name: str, code: str, limit: float = 60.0, missing: str = "") -> Step:
    return Step(name, f"step {name}", (sys.executable, "-c", code), limit, missing)


def call(out: Path, steps: list[Step], monkeypatch: pytest.MonkeyPatch, *words: str) -> int:
    monkeypatch.setattr(hour, "plan_steps", lambda plan: iter(steps))
    return hour.main(["--out", str(out), *words])


def states(out: Path) -> dict[str, str]:
    return {file.stem: json.loads(file.read_text())["state"] for file in (out / "steps").iterdir()}


def test_a_step_that_fails_is_reported_and_the_others_are_done(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    steps = [
        step("rate-small", f"print('noise'); print({json.dumps([FIGURE])!r})"),
        step("vllm-small", "", missing="vllm is not here: pip install vllm"),
        step("replicas-small", "raise SystemExit('no driver')"),
        step("doctor", "import time; time.sleep(30)", limit=0.5),
    ]
    assert call(tmp_path, steps, monkeypatch) == 1
    assert states(tmp_path) == {
        "rate-small": "done",
        "vllm-small": "left out",
        "replicas-small": "failed",
        "doctor": "failed",
    }
    page = (tmp_path / "gpu.md").read_text()
    assert "| small: reference A | 2.00 samples/s |" in page
    assert "vllm is not here: pip install vllm" in page
    assert "no driver" in page
    assert json.loads((tmp_path / "gpu.json").read_text())["parts"][0]["figures"] == [FIGURE]


def test_the_same_command_repeats_only_what_was_not_done(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = tmp_path / "log"
    write = f"import json; open({str(log)!r}, 'a').write('x'); print(json.dumps([{FIGURE!r}]))"
    assert call(tmp_path / "out", [step("rate-a", write), step("rate-b", "raise SystemExit(3)")], monkeypatch) == 1
    assert call(tmp_path / "out", [step("rate-a", write), step("rate-b", write)], monkeypatch) == 0
    assert log.read_text() == "xx"
    # Another size is another step.
    assert call(tmp_path / "out", [step("rate-a", write + " # more")], monkeypatch) == 0
    assert log.read_text() == "xxx"


LEAVES_A_CHILD = (
    "import subprocess, sys, time;"
    "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(120)']);"
    "open({file!r}, 'w').write(str(child.pid)); time.sleep(120)"
)


def ends(file: Path) -> bool:
    """Whether the process whose id a file holds ends within 20 s."""
    child = int(file.read_text())
    for _ in range(200):
        with suppress(psutil.NoSuchProcess):
            if psutil.Process(child).status() != psutil.STATUS_ZOMBIE:
                time.sleep(0.1)
                continue
        return True
    return False


def test_what_a_step_started_ends_with_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Such as the replicas of a model that took too long."""
    file = tmp_path / "pid"
    assert call(tmp_path, [step("rate-a", LEAVES_A_CHILD.format(file=str(file)), limit=5.0)], monkeypatch) == 1
    assert states(tmp_path) == {"rate-a": "failed"}
    assert ends(file)


def test_no_step_outlives_a_kill(tmp_path: Path) -> None:
    file = tmp_path / "pid"
    command = [sys.executable, "-c", LEAVES_A_CHILD.format(file=str(file))]
    code = f"import benchmarks.gpu.__main__ as hour; hour._run({command!r}, 100)"
    parent = subprocess.Popen([sys.executable, "-c", code], cwd=ROOT)
    while not (file.is_file() and file.read_text()):
        assert parent.poll() is None
        time.sleep(0.1)
    parent.kill()
    parent.wait()
    assert ends(file)


def test_no_step_begins_after_the_hour(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert call(tmp_path, [step("rate-a", "print('[]')")], monkeypatch, "--minutes", "0") == 0
    assert states(tmp_path) == {"rate-a": "left out"}
    assert call(tmp_path, [step("rate-a", "print('[]')")], monkeypatch) == 0
    assert states(tmp_path) == {"rate-a": "done"}


@pytest.mark.parametrize("gpus", [0, 1, 4])
def test_every_backend_has_a_step_with_and_without_a_gpu(gpus: int, tmp_path: Path) -> None:
    plan = Plan("ORG/NAME", "cuda" if gpus else "cpu", gpus, 4, tmp_path)
    steps = {one.name: one for one in hour.plan_steps(plan)}
    expected = {f"parity-{name}-{of}" for name in ("vllm", "vllm-local", "sglang") for of in ("bundled", "real")}
    assert expected | {"doctor", "rate-bundled", "rate-real", "vllm-real", "replicas-real"} <= steps.keys()
    assert bool(steps["replicas-real"].missing) == (gpus == 1)


@pytest.mark.release
def test_the_whole_hour_runs_on_a_machine_without_gpu(tmp_path: Path) -> None:
    assert hour.main(["--out", str(tmp_path), "--questions", "2"]) == 0
    found = states(tmp_path)
    assert [found[name] for name in ("doctor", "rate-bundled", "rate-small", "replicas-bundled")] == ["done"] * 4
    assert set(found.values()) <= {"done", "left out"}
