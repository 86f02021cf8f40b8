"""What a batch endpoint may do: each request ends as a single one would, and is asked no more often than it must."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from batch_runs import APIS, KEY, KEYS, model_at, questions
from batch_server import Api, BatchServer, Fate, Json, running_batches

from snellen.api.resolve_benchmarks import resolve_benchmark
from snellen.core.benchmark import Variant
from snellen.core.model import BatchTerms, Model
from snellen.core.run import RoleUsage
from snellen.engine.batches import queue
from snellen.engine.limits.retrying import RetryPolicy
from snellen.engine.limits.spending import Budget
from snellen.engine.loop.plan import RunPlan
from snellen.engine.loop.request_broker import RequestLimits
from snellen.engine.loop.run import run
from snellen.models.naming.registry import open_model
from snellen.store.batches import BatchTable
from snellen.store.responses import ResponseStore
from snellen.store.runs import RunFolder

COUNT = 8
QUICK = RetryPolicy(base=0.01, cap=0.05, deadline=2.0)


@pytest.fixture(autouse=True)
def short_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(queue, "CREATION_SECONDS", 0.2)
    monkeypatch.setattr(queue, "_FIRST_POLL", 0.02)
    monkeypatch.setattr(queue, "_LONGEST_POLL", 0.05)
    monkeypatch.setattr(queue, "SETTLE", 0.05)
    monkeypatch.setattr(queue, "_TICK", 0.01)
    for name in KEYS:
        monkeypatch.setenv(name, KEY)


class Runs:
    """Runs in one folder: the same call goes on with the same run."""

    def __init__(self, server: BatchServer, folder: Path) -> None:
        self.server, self.folder = server, folder
        self.said: list[str] = []
        self.budget: Budget | None = None

    def run(self, api: Api, count: int = COUNT, terms: Callable[[BatchTerms], BatchTerms] | None = None) -> RunFolder:
        model: Any = open_model(model_at(self.server, api))
        if terms is not None:
            model.batch_terms = terms(model.batch_terms)
        return self.run_model(model, Variant(), count)

    def run_model(self, model: Model, variant: Variant, count: int = COUNT, options: int = 2) -> RunFolder:
        plan = RunPlan(
            model=model,
            model_name="tiny",
            benchmark=resolve_benchmark(str(questions(self.folder, count, options)), variant, {}),
            out=self.folder / "out",
            limits=RequestLimits(retries=QUICK, budget=self.budget),
            warned=self.said.append,
        )
        with ResponseStore(self.folder / "store.sqlite") as store:
            return run(plan, store)

    @property
    def left(self) -> int:
        """Batches that are still in the store."""
        table = BatchTable(self.folder / "store.sqlite")
        rows = table._connection.execute("SELECT count(*) FROM batches").fetchone()[0]
        table.close()
        return int(rows)


@pytest.fixture
def runs(batches: BatchServer, tmp_path: Path) -> Runs:
    return Runs(batches, tmp_path)


def outcomes(folder: RunFolder) -> dict[str, str]:
    return {record.id: record.outcome for record in (*folder.records(), *folder.failures())}


def asks(runs: Runs) -> dict[str, int]:
    """How often each question was in a batch, by its number."""
    number = "What is "
    return {text.split(number)[1].split("?")[0]: times for text, times in runs.server.asked.items()}


def fated(**fates: Fate) -> Callable[[str, int], Fate]:
    """Fates by question (`q3`), in the first batch it is in."""
    return lambda text, time: (
        fates.get("q" + text.split("What is ")[1].split("?")[0], "answered") if time == 1 else "answered"
    )


def spent(folder: RunFolder) -> RoleUsage:
    return folder.info.spent["model"]


@pytest.mark.parametrize("api", APIS)
def test_replies_are_read_as_those_of_single_requests(runs: Runs, api: Api) -> None:
    runs.server.fate = fated(q1="refused", q2="cut")
    runs.server.reply = lambda prompt: "" if "What is 2?" in prompt else "A"
    folder = runs.run(api)
    expected = dict.fromkeys(map(str, range(COUNT)), "answered") | {"1": "refused", "2": "truncated"}
    assert outcomes(folder) == expected
    assert set(asks(runs).values()) == {1}
    assert (spent(folder).sent, spent(folder).answered) == (COUNT, COUNT)
    assert spent(folder).usage.prompt_tokens == 12 * COUNT
    assert spent(folder).usage.completion_tokens == 3 * COUNT
    assert folder.info.status == "complete"
    assert not runs.left


@pytest.mark.parametrize("api", APIS)
def test_what_fails_in_passing_goes_into_the_next_batch(runs: Runs, api: Api) -> None:
    runs.server.fate = fated(q1="overloaded", q3="expired", q5="missing")
    folder = runs.run(api)
    assert set(outcomes(folder).values()) == {"answered"}
    assert asks(runs) == dict.fromkeys(map(str, range(COUNT)), 1) | {"1": 2, "3": 2, "5": 2}
    assert [len(batch.requests) for batch in runs.server.batches.values()] == [COUNT, 3]
    assert any("3 of which go into the next batch" in sentence for sentence in runs.said)


@pytest.mark.parametrize("api", APIS)
def test_what_would_fail_again_is_a_failure_until_the_next_start(runs: Runs, api: Api) -> None:
    runs.server.fate = fated(q4="invalid")
    folder = runs.run(api)
    assert outcomes(folder) == dict.fromkeys(map(str, range(COUNT)), "answered") | {"4": "failed"}
    assert folder.info.status == "incomplete"
    assert set(asks(runs).values()) == {1}
    folder = runs.run(api)
    assert set(outcomes(folder).values()) == {"answered"}
    assert asks(runs) == dict.fromkeys(map(str, range(COUNT)), 1) | {"4": 2}


def test_a_request_that_always_fails_is_given_up(runs: Runs) -> None:
    runs.server.fate = lambda text, time: "overloaded" if "What is 2?" in text else "answered"
    folder = runs.run("openai")
    assert outcomes(folder)["2"] == "failed"
    assert asks(runs)["2"] == 3


@pytest.mark.parametrize("api", APIS)
def test_duplicate_and_unknown_results(runs: Runs, api: Api) -> None:
    def changed(lines: list[Json]) -> list[Json]:
        other = {**lines[0], "key": "f" * 64} if "key" in lines[0] else {**lines[0], "custom_id": "f" * 64}
        return [other, lines[0], dict(lines[0]), *lines[1:]]

    runs.server.extra_lines = changed
    folder = runs.run(api)
    assert set(outcomes(folder).values()) == {"answered"}
    assert spent(folder).answered == COUNT
    assert set(asks(runs).values()) == {1}
    assert any("1 results under unknown keys are left out" in sentence for sentence in runs.said)


FAULTS = ("results cut", "results end early", "results broken", "state broken", "create broken before")


@pytest.mark.parametrize("fault", [*FAULTS, "create broken after", "upload broken"])
@pytest.mark.parametrize("api", APIS)
def test_a_fault_of_the_server_asks_nothing_twice(runs: Runs, api: Api, fault: str) -> None:
    runs.server.faults[fault] = 2 if "results" in fault else 1
    folder = runs.run(api)
    assert set(outcomes(folder).values()) == {"answered"}
    assert set(asks(runs).values()) == {1}
    assert len(runs.server.batches) == 1
    # Anthropic's batches have no file that is uploaded, and Google's small ones no file at all.
    has_file = {"upload broken": api in ("openai", "mistral")}.get(fault, api != "google" or "results" not in fault)
    assert bool(runs.server.reached[fault]) == has_file


@pytest.mark.parametrize("limit", ["_INLINE_BYTES", "_INLINE_REQUESTS"])
@pytest.mark.parametrize("fault", ["results cut", "results end early", "upload broken", ""])
def test_a_large_batch_of_google_is_a_file(runs: Runs, monkeypatch: pytest.MonkeyPatch, fault: str, limit: str) -> None:
    from snellen.models.remote.batch_endpoint import google

    monkeypatch.setattr(google, limit, 1)
    runs.server.faults[fault] = 1
    runs.server.fate = fated(q1="overloaded", q3="expired")
    folder = runs.run("google")
    assert set(outcomes(folder).values()) == {"answered"}
    assert asks(runs) == dict.fromkeys(map(str, range(COUNT)), 1) | {"1": 2, "3": 2}
    assert runs.server.reached["uploaded"] == 2


@pytest.mark.parametrize("api", APIS)
def test_a_batch_that_expires_as_a_whole_is_asked_again(runs: Runs, api: Api) -> None:
    if api == "anthropic":
        runs.server.fate = lambda text, time: "expired" if time == 1 else "answered"
    else:
        shown = runs.server._shown

        def expire_first(batch: Any) -> Json:
            if batch.id.endswith("1") and batch.status == "ended":
                batch.status = "expired"
            return shown(batch)

        runs.server._shown = expire_first  # type: ignore[method-assign]
    folder = runs.run(api)
    assert set(outcomes(folder).values()) == {"answered"}
    assert set(asks(runs).values()) == {2}


def test_a_batch_beyond_the_account_s_room_is_halved(runs: Runs) -> None:
    runs.server.most_requests = 3
    folder = runs.run("openai")
    assert set(outcomes(folder).values()) == {"answered"}
    assert [len(batch.requests) for batch in runs.server.batches.values()] == [8, 4, 4, 2, 2, 2, 2]
    assert set(asks(runs).values()) == {1}


@pytest.mark.parametrize("api", APIS)
def test_limits_of_a_batch_are_kept(runs: Runs, api: Api) -> None:
    folder = runs.run(api, 10, lambda terms: terms._replace(requests=4))
    assert set(outcomes(folder).values()) == {"answered"}
    assert sorted(len(batch.requests) for batch in runs.server.batches.values()) == [2, 4, 4]
    runs.folder = runs.folder / "by-bytes"
    runs.folder.mkdir()
    runs.server.batches.clear()
    runs.server.lines.clear()
    runs.run(api, 10, lambda terms: terms._replace(bytes=1200))
    assert len(runs.server.batches) > 2
    assert sum(len(batch.requests) for batch in runs.server.batches.values()) == 10


def test_a_request_larger_than_a_batch_fails_alone(runs: Runs) -> None:
    folder = runs.run("openai", 3, lambda terms: terms._replace(bytes=50))
    assert set(outcomes(folder).values()) == {"failed"}
    assert not runs.server.batches


def test_a_batch_that_is_refused_says_why(runs: Runs) -> None:
    runs.server.faults["create rejected"] = 1
    folder = runs.run("openai")
    assert {record.passes[0].output.message for record in folder.failures()} == {  # type: ignore[union-attr]
        "the server answers 400: this model takes no batches"
    }
    assert not runs.left
    assert set(outcomes(runs.run("openai")).values()) == {"answered"}


@pytest.mark.parametrize("api", APIS)
def test_a_key_that_is_refused_half_way_loses_nothing(runs: Runs, api: Api) -> None:
    runs.server.polls_needed = 10_000
    looked = runs.server._look

    def refuse(request: Any, path: str) -> tuple[int, Json]:
        if runs.server.reached["polled"] == 2:
            runs.server.key = "another"
        return looked(request, path)

    runs.server._look = refuse  # type: ignore[method-assign]
    folder = runs.run(api)
    assert folder.info.status == "interrupted"
    assert "Incorrect API key" in folder.info.stopped
    assert "8 requests wait at" in folder.info.stopped
    runs.server.key, runs.server.polls_needed = KEY, 1
    runs.server._look = looked  # type: ignore[method-assign]
    assert set(outcomes(runs.run(api)).values()) == {"answered"}
    assert set(asks(runs).values()) == {1}


def test_a_server_that_is_gone_ends_the_run_with_what_waits(runs: Runs) -> None:
    runs.server.polls_needed = 10_000
    looked = runs.server._look

    def vanish(request: Any, path: str) -> tuple[int, Json]:
        runs.server.is_gone = runs.server.reached["polled"] >= 2
        return looked(request, path)

    runs.server._look = vanish  # type: ignore[method-assign]
    folder = runs.run("openai")
    assert folder.info.status == "interrupted"
    assert "the server answers 503" in folder.info.stopped
    assert "and the same command takes them" in folder.info.stopped
    runs.server.is_gone, runs.server.polls_needed = False, 1
    runs.server._look = looked  # type: ignore[method-assign]
    assert set(outcomes(runs.run("openai")).values()) == {"answered"}
    assert set(asks(runs).values()) == {1}


def test_a_batch_that_the_server_does_not_know_is_kept_and_fresh_goes_on(runs: Runs) -> None:
    table = BatchTable(runs.folder / "store.sqlite")
    with ResponseStore(runs.folder / "store.sqlite") as store:
        model: Any = open_model(model_at(runs.server, "openai"))
        # Left by a start that asked other questions, and gone at the server since.
        table.add("snellen-gone", model.batch_account, store.model_key(model.identity), {b"0" * 32: ""})
        table.set_place("snellen-gone", "batch_gone")
    table.close()
    assert set(outcomes(runs.run("openai")).values()) == {"answered"}
    assert runs.left == 1


def test_circular_passes_run_wave_by_wave(runs: Runs) -> None:
    def reply(prompt: str) -> str:
        number = int(prompt.split("What is ")[1].split("?")[0])
        wanted = "one" if number % 2 == 0 else "two"
        letter = next(line[0] for line in prompt.splitlines() if line[1:2] in ".)" and line.endswith(wanted))
        # Every fourth question is right in the first pass alone.
        return letter if number % 4 or line_of(prompt, wanted) == "A" else "A"

    def line_of(prompt: str, wanted: str) -> str:
        return next(line[0] for line in prompt.splitlines() if line.endswith(wanted))

    runs.server.reply = reply
    model = open_model(model_at(runs.server, "openai"))
    folder = runs.run_model(model, Variant(circular="early"), 8, options=4)
    sizes = [len(batch.requests) for batch in runs.server.batches.values()]
    assert sizes == [8, 8, 6, 6]
    assert folder.info.status == "complete"


def test_the_next_start_takes_a_batch_before_it_asks_more(runs: Runs) -> None:
    """A larger run finds the batch of a smaller one, and submits the rest alone."""
    runs.run("openai", 4)
    runs.run("openai", 8)
    assert [len(batch.requests) for batch in runs.server.batches.values()] == [4, 4]
    assert set(asks(runs).values()) == {1}


def leave_a_batch(runs: Runs, api: Api = "openai", count: int = COUNT) -> RunFolder:
    """A run whose key is refused while its batch waits."""
    server = runs.server
    looked, seen = server._look, server.reached["polled"]
    server.polls_needed = 10_000

    def refuse(request: Any, path: str) -> tuple[int, Json]:
        if server.reached["polled"] >= seen + 2:
            server.key = "another"
        return looked(request, path)

    server._look = refuse  # type: ignore[method-assign]
    folder = runs.run(api, count)
    assert folder.info.status == "interrupted"
    server.key, server.polls_needed = KEY, 1
    server._look = looked  # type: ignore[method-assign]
    return folder


def test_a_budget_does_not_hold_back_what_waits_in_a_batch(runs: Runs) -> None:
    """The requests of a batch are paid for: that they do not fit into a budget must not ask them again."""
    leave_a_batch(runs)
    runs.budget = Budget.parse("1ktok")
    folder = runs.run("openai")
    assert set(outcomes(folder).values()) == {"answered"}
    assert set(asks(runs).values()) == {1}
    assert (spent(folder).sent, spent(folder).answered) == (COUNT, COUNT)
    assert runs.budget.spent == 15 * COUNT


def test_a_batch_of_another_address_is_not_taken_for_this_one_s(runs: Runs) -> None:
    """Each server numbers its batches for itself."""
    leave_a_batch(runs)
    first, own = runs.server, runs.folder
    with running_batches() as runs.server:
        runs.folder = own / "other"
        runs.folder.mkdir()
        runs.run("openai", 3)
        runs.folder = own
        folder = runs.run("openai")
    assert folder.info.status == "interrupted"
    assert f"8 requests wait in batch_1 at openai {first.url}, not at openai" in folder.info.stopped
    assert runs.left == 1
    runs.server = first
    assert set(outcomes(runs.run("openai")).values()) == {"answered"}
    assert set(asks(runs).values()) == {1}


def test_a_batch_that_is_gone_says_how_to_ask_what_is_missing(runs: Runs) -> None:
    leave_a_batch(runs)
    runs.server.batches.clear()
    folder = runs.run("openai")
    assert "if batch_1 is gone, leave out batch=yes" in folder.info.stopped
    folder = runs.run_model(open_model(model_at(runs.server, "openai", "sampling=yes")), Variant())
    assert set(outcomes(folder).values()) == {"answered"}
    assert runs.server.live == COUNT
