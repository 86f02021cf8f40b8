"""The model behind an address is replaced: what the server says of it is noted, a change told."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from remote_runs import asked_about, measured
from standin_server import StandIn, chat_reply

from snellen.cli import main
from snellen.core.served_identity import ServedIdentity, identity_differences
from snellen.report.format import notices
from snellen.store.runs import RunFolder


class Behind:
    """Serves one model under the name `tiny`; the first `broken` questions fail."""

    def __init__(self, root: str, broken: int = 0, fingerprints: tuple[str, ...] = ()) -> None:
        self.root, self.broken, self.fingerprints = root, broken, fingerprints
        self.asked = 0

    def on(self, server: StandIn) -> None:
        server.handler, server.listing = self.answer, self.listed

    def listed(self, request: web.Request) -> dict[str, Any]:
        self.asked += 1
        # As vLLM lists it: `created` is the time of the request.
        own = {"id": "tiny", "object": "model", "created": self.asked, "owned_by": "vllm"}
        other = {"id": "lora", "root": "/another"}
        return {"data": [other, {**own, "root": self.root, "max_model_len": 4096}]}

    async def answer(self, request: web.Request, body: dict[str, Any]) -> web.StreamResponse:
        number = asked_about(body) if "What is" in str(body) else self.broken
        if number < self.broken:
            return web.json_response({"error": {"message": "no"}}, status=400)
        reply = chat_reply("A") | {"model": "tiny"}
        if self.fingerprints:
            reply["system_fingerprint"] = self.fingerprints[number % len(self.fingerprints)]
        return web.json_response(reply)


def told(run: RunFolder) -> list[str]:
    return [one for one in notices(run.report()) if "server" in one or "came from" in one]


@pytest.mark.attack(
    "the model behind an address is replaced between two starts of a run",
    "the run says so; what the server says of itself is in run.json and in no digest",
)
def test_a_model_that_was_replaced_between_two_starts(server: StandIn, tmp_path: Path) -> None:
    Behind("/models/seven", broken=2, fingerprints=("fp_1",)).on(server)
    first = measured(server, tmp_path, 6)
    (said,) = first.info.served["model"]
    assert said.listed["root"] == "/models/seven"
    assert said.listed["max_model_len"] == "4096"
    assert (said.models, said.fingerprints) == ({"tiny": 4}, {"fp_1": 4})
    assert said.since
    assert told(first) == []

    Behind("/models/seven", broken=1, fingerprints=("fp_1",)).on(server)
    again = measured(server, tmp_path, 6)
    assert again.path == first.path
    (said,) = again.info.served["model"]
    assert said.fingerprints == {"fp_1": 5}
    assert told(again) == []

    Behind("/models/eight", fingerprints=("fp_2",)).on(server)
    last = measured(server, tmp_path, 6)
    assert last.path == first.path
    assert last.info.status == "complete"
    assert [one.listed["root"] for one in last.info.served["model"]] == ["/models/seven", "/models/eight"]
    (sentence,) = told(last)
    assert sentence.startswith("what the server says of the model changed between two starts (from")
    assert "root /models/seven, then /models/eight" in sentence
    assert "system_fingerprint fp_1, then fp_2" in sentence


@pytest.mark.attack(
    "a service answers one run with several models", "the run says which, and how many replies each gave"
)
@pytest.mark.parametrize("options", ["", ":stream=yes"])
def test_several_backends_within_a_run(server: StandIn, tmp_path: Path, options: str) -> None:
    Behind("/m", fingerprints=("fp_1", "fp_2", "fp_1")).on(server)
    if options:
        server.handler = streamed
    run = measured(server, tmp_path, 6, options=options)
    (sentence,) = told(run)
    assert "of the model came from more than one system_fingerprint: fp_1 (4), fp_2 (2)" in sentence


async def streamed(request: web.Request, body: dict[str, Any]) -> web.StreamResponse:
    chunk = {"system_fingerprint": "fp_2" if asked_about(body) % 3 == 1 else "fp_1"}
    ends = [{"delta": {"content": "A"}}, {"delta": {}, "finish_reason": "stop"}]
    response = web.StreamResponse()
    await response.prepare(request)
    for end in ends:
        data = web.json_response({**chunk, "choices": [end]}).text
        await response.write(f"data: {data}\n\n".encode())
    await response.write(b"data: [DONE]\n\n")
    return response


@pytest.mark.attack("two runs of one model's name were answered by different models", "compare and why say so")
def test_two_runs_of_one_name(server: StandIn, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    runs = []
    for at, root in enumerate(["/models/seven", "/models/eight", "/models/eight"]):
        Behind(root).on(server)
        runs.append(str(measured(server, tmp_path / str(at), 12).path))
    said = "root /models/seven, then /models/eight"
    for command in ("compare", "why"):
        assert main([command, *runs[:2]]) == 0
        shown = " ".join(capsys.readouterr().out.split())
        assert "servers report different models for server/tiny" in shown
        assert said in shown
        assert main([command, *runs[1:]]) == 0
        assert "report different models" not in capsys.readouterr().out


def test_a_server_without_a_list_is_asked_all_the_same(server: StandIn, tmp_path: Path) -> None:
    server.listing = lambda request: web.Response(status=404)
    run = measured(server, tmp_path, 4)
    assert run.info.status == "complete"
    assert run.info.served == {}


@pytest.mark.parametrize(
    ("first", "second", "unlike"),
    [
        (ServedIdentity(listed={"root": "a"}), ServedIdentity(listed={"root": "b"}), ["root a, then b"]),
        (ServedIdentity(listed={"root": "a"}), ServedIdentity(models={"m": 1}), []),
        (ServedIdentity(listed={"created": "1"}), ServedIdentity(listed={"created": "2"}), []),
        (ServedIdentity(models={"m-1": 3}), ServedIdentity(models={"m-2": 1}), ["replies by m-1, then by m-2"]),
        # Large services have several, and not each start meets all.
        (ServedIdentity(fingerprints={"f": 1, "g": 2}), ServedIdentity(fingerprints={"g": 9, "h": 1}), []),
        (
            ServedIdentity(fingerprints={"f": 1, "g": 2}),
            ServedIdentity(fingerprints={"h": 1}),
            ["system_fingerprint g, f, then h"],
        ),
    ],
)
def test_differences_of_served_identities(first: ServedIdentity, second: ServedIdentity, unlike: list[str]) -> None:
    assert list(identity_differences(first, second)) == unlike
