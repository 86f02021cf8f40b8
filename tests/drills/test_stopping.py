"""Runs that are stopped, politely or not, at any moment; runs that share a store."""

from __future__ import annotations

import random
import signal
import time
from pathlib import Path

import pytest
from drill import Drill, ended

IN_FLIGHT = 4
SAMPLES = 800
"""More than 20 starts can ask before they are killed."""


@pytest.mark.parametrize("kills", [5, pytest.param(20, marks=pytest.mark.release)])
@pytest.mark.attack("kill -9 again and again", "the end is that of an undisturbed run")
def test_killed_again_and_again(tmp_path: Path, kills: int) -> None:
    """SIGKILL at random moments, in turn while starting up and while asking: each costs at most
    what was in flight, and no answer that was stored is asked for again."""
    drill = Drill(tmp_path, SAMPLES)
    draw = random.Random(20)
    for kill in range(kills):
        process = drill.start("patient", "--out", "out", PATIENCE="0.05")
        if kill % 2:
            drill.wait_for_sent(len(drill.sent()) + 1, process)
        time.sleep(draw.uniform(0.0, 0.4))
        process.kill()
        process.communicate()
        assert process.returncode == -signal.SIGKILL
    assert len(drill.sent()) >= kills // 2
    assert drill.run("patient", PATIENCE="0").code == 0
    assert sorted(int(record.id) for record in drill.records()) == list(range(SAMPLES))
    assert len(drill.sent()) <= SAMPLES + kills * IN_FLIGHT
    spent = drill.only_run().info.spent["model"]
    assert spent.answered == SAMPLES
    assert len(drill.sent()) - kills * IN_FLIGHT <= spent.sent <= len(drill.sent())


def test_sigterm_ends_like_ctrl_c(drill: Drill) -> None:
    process = drill.start("patient", "--out", "out", PATIENCE="0.1")
    drill.wait_for_sent(12, process)
    stopped = drill.stop(process, signal.SIGTERM)
    assert stopped.code == 130
    assert stopped.seconds < 10.0
    assert "continue with: snellen run" in stopped.said
    done = len(drill.records())
    assert 0 < done < drill.samples
    run = drill.only_run()
    assert run.info.status == "interrupted"
    assert run.report().summary.n == done
    assert drill.run("patient").code == 0
    assert len(drill.sent()) <= drill.samples + IN_FLIGHT


@pytest.mark.attack("Ctrl-C again and again", "what was finished is kept, and how to go on is said")
def test_repeated_ctrl_c_prints_how_to_continue(drill: Drill) -> None:
    process = drill.start("patient", "--out", "out", PATIENCE="0.1")
    drill.wait_for_sent(12, process)
    while process.poll() is None:
        process.send_signal(signal.SIGINT)
        time.sleep(0.03)
    stopped = ended(process, time.monotonic())
    assert stopped.code == 130, stopped
    assert "continue with: snellen run" in stopped.said
    assert "Traceback" not in stopped.said
    assert drill.run("patient").code == 0
    assert len(drill.records()) == drill.samples


def _deaf_to_ctrl_c() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)


@pytest.mark.attack("SIGTERM where Ctrl-C is ignored", "the run ends and can go on")
def test_sigterm_ends_a_job_of_a_script_too(drill: Drill) -> None:
    """A shell starts what a script puts in the background with SIGINT ignored."""
    process = drill.start("patient", "--out", "out", PATIENCE="0.1", limit=_deaf_to_ctrl_c)
    drill.wait_for_sent(12, process)
    stopped = drill.stop(process, signal.SIGTERM)
    assert stopped.code == 130
    assert stopped.seconds < 10.0
    assert "continue with: snellen run" in stopped.said
    assert drill.only_run().info.status == "interrupted"


@pytest.mark.parametrize("after", [0.05, 0.15, 0.3])
def test_ctrl_c_while_starting(drill: Drill, after: float) -> None:
    """Before anything was asked there is nothing to lose, and nothing to show but one word."""
    process = drill.start("patient", "--out", "out")
    time.sleep(after)
    stopped = drill.stop(process, signal.SIGINT)
    assert stopped.seconds < 10.0
    # While the interpreter loads C extensions the interrupt is theirs: they report an ImportError,
    # and on a busy machine one in some hundred starts crashes in them.
    loading = (1, -signal.SIGSEGV)
    assert stopped.code in (130, -signal.SIGINT, *loading), stopped


def test_two_runs_share_a_store(tmp_path: Path) -> None:
    """Different runs side by side: what one asked the other need not, none loses an answer."""
    drill = Drill(tmp_path, 300)
    store = ("--store", str(tmp_path / "shared.sqlite"))
    started = time.monotonic()
    first = drill.start("patient", "--out", "one", *store)
    second = drill.start("patient", "--out", "two", "--limit", "200", *store)
    for process in (first, second):
        done = ended(process, started)
        assert done.code == 0, done
    assert len(drill.records("one")) == 300
    assert len(drill.records("two")) == 200
    assert len(drill.sent()) == 300
    assert drill.run("patient", *store, out="three").code == 0
    assert drill.only_run("three").info.counts.sent == 0
