"""Models that misbehave: typed failures, owed on the next start; the others' answers are kept."""

from __future__ import annotations

import signal

import pytest
from drill import Drill


def failures(drill: Drill) -> dict[str, str]:
    """What went wrong, by sample."""
    return {record.id: record.passes[-1].output.message for record in drill.only_run().failures()}


@pytest.mark.attack("a model of one's own that raises", "that sample alone fails")
def test_a_model_that_raises_fails_that_sample_alone(drill: Drill) -> None:
    ended = drill.run("raises_on_7")
    assert ended.code == 1
    assert "Traceback" not in ended.out
    assert ended.said.count("Traceback") == 1
    message = "ValueError: no luck with seven (faulty_models.py, line 27, in raises_on_7)"
    assert failures(drill) == {"7": message}
    assert len(drill.records()) == drill.samples - 1
    assert drill.only_run().info.status == "incomplete"


@pytest.mark.parametrize(
    ("model", "said"),
    [
        ("gives_none", "the model returned NoneType; expected text or an Output"),
        ("gives_a_number", "the model returned int; expected text or an Output"),
        ("sulks", " came back for "),
        ("exits", "SystemExit: the model wants to leave"),
    ],
)
def test_a_model_that_never_answers_rightly(drill: Drill, model: str, said: str) -> None:
    ended = drill.run(model)
    assert ended.code == 1, ended
    assert ended.said.count("Traceback") == (1 if model == "exits" else 0)
    found = failures(drill)
    assert len(found) == drill.samples
    assert all(said in message for message in found.values()), found
    assert drill.records() == []


def test_log_likelihoods_that_are_not_numbers_are_failures(drill: Drill) -> None:
    ended = drill.run("not_a_number", benchmark="ranked_questions", DATA=str(drill.data))
    assert ended.code == 1, ended
    ranked = drill.only_run()
    assert {int(r.id) % 2 for r in ranked.failures()} == {1}
    assert {r.passes[-1].output.kind for r in ranked.failures()} == {"nan"}
    assert {r.score for r in ranked.records()} == {1.0}
    assert ranked.report().summary.n == drill.samples // 2


@pytest.mark.parametrize("model", ["hangs", "hangs_async"])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.attack("a model of one's own that hangs", "Ctrl-C and SIGTERM end the run")
def test_a_model_that_hangs_can_be_stopped(drill: Drill, model: str, number: signal.Signals) -> None:
    process = drill.start(model)
    drill.wait_for_sent(1, process)
    ended = drill.stop(process, number)
    assert ended.seconds < 2.0
    assert ended.code == 130, ended
    assert "continue with: snellen run" in ended.said
    assert drill.only_run("snellen-results").info.status == "interrupted"
