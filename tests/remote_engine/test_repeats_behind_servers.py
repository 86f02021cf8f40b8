"""Questions asked several times over HTTP: what is sent, and what a second start asks."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from remote_runs import asked_about, questions
from standin_server import StandIn, chat_reply

from snellen import evaluate
from snellen.store.runs import RunFolder

COUNT, REPEATS = 24, 5


class Urn:
    """Replies rightly with a chance of its own for each question, anew each time."""

    def __init__(self) -> None:
        # One for each question: how often it is right does not depend on the order of arrival.
        self.random = [random.Random(number) for number in range(COUNT)]
        self.bodies: list[dict[str, Any]] = []

    async def __call__(self, request: web.Request, body: dict[str, Any]) -> web.StreamResponse:
        if "What is" not in str(body["messages"]):
            return web.json_response(chat_reply("A"))
        number = asked_about(body)
        self.bodies.append(body)
        right = self.random[number].random() < number / (COUNT - 1)
        return web.json_response(chat_reply("AB"[(number + (not right)) % 2]))


def run(server: StandIn, folder: Path, options: str, repeats: int = REPEATS) -> RunFolder:
    (found,) = evaluate(
        [f"{server.url}#tiny:{options}"],
        [str(questions(folder, COUNT))],
        out=folder / "out",
        html=False,
        repeats=repeats,
    ).runs
    return found


def test_settings_and_seeds_are_sent(server: StandIn, tmp_path: Path) -> None:
    urn = server.handler = Urn()
    found = run(server, tmp_path, "temperature=0.8,top_p=0.9,seed=7")
    assert {(body["temperature"], body["top_p"]) for body in urn.bodies} == {(0.8, 0.9)}
    assert Counter(body["seed"] for body in urn.bodies) == dict.fromkeys(range(7, 12), COUNT)
    assert found.info.model.endswith("tiny:temperature=0.8,top_p=0.9,seed=7")
    assert found.info.config.identity.facts.keys().isdisjoint({"temperature", "top_p", "seed"})
    assert found.info.spent["model"].answered == COUNT * REPEATS


def test_nothing_stored_is_asked_again(server: StandIn, tmp_path: Path) -> None:
    urn = server.handler = Urn()
    first = run(server, tmp_path, "temperature=0.8", 3)
    assert len(urn.bodies) == 3 * COUNT
    more = run(server, tmp_path, "temperature=0.8")
    assert len(urn.bodies) == REPEATS * COUNT
    told = more.report().summary
    # Without samples.jsonl the replies come from the store, each to its own draw.
    (more.path / "samples.jsonl").unlink()
    again = run(server, tmp_path, "temperature=0.8")
    assert len(urn.bodies) == REPEATS * COUNT
    assert again.report().summary.draws == told.draws
    earlier = {record.id: record for record in first.records()}
    for record in again.records():
        assert record.repeats[1:3] == earlier[record.id].repeats[1:]


def test_the_chances_of_questions_are_seen(server: StandIn, tmp_path: Path) -> None:
    server.handler = Urn()
    summary = run(server, tmp_path, "temperature=0.8", 16).report().summary
    draws = summary.draws
    assert draws is not None
    assert summary.headline.value == pytest.approx(50, abs=8)
    chances = [number / (COUNT - 1) for number in range(COUNT)]
    two = sum(1 - (1 - chance) ** 2 for chance in chances) / COUNT
    assert draws.best[2] == pytest.approx(100 * two, abs=8)
    same = sum(chance**2 + (1 - chance) ** 2 for chance in chances) / COUNT
    assert draws.same_answer == pytest.approx(100 * same, abs=8)
    assert draws.same_score == draws.same_answer
    assert draws.between == pytest.approx(0.087, abs=0.04)
    assert draws.within == pytest.approx(0.17, abs=0.03)
