"""Two servers serve other weights under one name: the stored replies of the first are named."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from remote_runs import questions
from standin_server import StandIn, running

from snellen.analysis.comparison.deviations import deviations
from snellen.cli import main
from snellen.store.runs import find_runs

COUNT = 4


@pytest.fixture
def servers() -> Iterator[tuple[StandIn, StandIn]]:
    with running() as first, running() as second:
        yield first, second


def host(server: StandIn) -> str:
    return server.url.removeprefix("http://").removesuffix("/v1")


def command(server: StandIn, data: str, out: Path) -> list[str]:
    return ["run", "-m", f"{server.url}#tiny", "-b", data, "--out", str(out), "--no-html", "-q"]


def test_replies_of_another_server_are_named(
    servers: tuple[StandIn, StandIn], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first, second = servers
    out = tmp_path / "out"
    data = str(questions(tmp_path, COUNT))

    def run(server: StandIn, *flags: str) -> str:
        words = ["run", "-m", f"{server.url}#tiny", "-b", data, "--out", str(out), "--no-html", "-q"]
        assert main([*words, *flags]) == 0
        return capsys.readouterr().err

    assert "stored" not in run(first)
    (whole,) = find_runs(out)
    assert whole.info.address == host(first)
    assert whole.info.config.identity.facts == {}

    # The same command with another server, then with the same one: nothing is asked.
    err = run(second)
    assert f"stored on {whole.info.created[:10]} at {host(first)}, not at {host(second)}" in err
    again = run(first)
    assert f"at {host(first)}; use --fresh" in again

    # A part of the questions is another run, which takes all replies from the store.
    assert f"at {host(first)}; use --fresh to ask again" in run(second, "--limit", "2")
    part = next(each for each in find_runs(out) if each.info.config.limit == 2)
    assert part.info.reused.addresses == (host(first),)
    labels = [deviation.label for deviation in deviations(part.info)]
    assert labels[0] == "limit 2"
    assert labels[1].startswith(f"2 stored replies of {host(first)}")

    assert "stored" not in run(second, "--fresh", "anew")
    fresh = next(each for each in find_runs(out) if each.info.config.fresh)
    assert (fresh.info.address, fresh.info.reused.replies) == (host(second), 0)


def test_a_run_of_the_same_server_names_no_address(servers: tuple[StandIn, StandIn], tmp_path: Path) -> None:
    server, _ = servers
    data = str(questions(tmp_path, COUNT))
    words = ["run", "-m", f"{server.url}#tiny", "-b", data, "--out", str(tmp_path), "--no-html", "-q"]
    assert main(words) == 0
    assert main([*words, "--limit", "2"]) == 0
    part = next(each for each in find_runs(tmp_path) if each.info.config.limit == 2)
    assert (part.info.reused.replies, part.info.reused.addresses) == (2, ())
    assert [deviation.label for deviation in deviations(part.info)] == ["limit 2"]
