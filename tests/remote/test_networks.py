"""Networks that do not work: a proxy that is gone, names that nobody knows."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest
from asking_remote import ask, question
from standin_server import StandIn

from snellen.cli import main
from snellen.core.errors import ModelError

PASSWORD = "open-sesame-4711"


@pytest.fixture
def closed() -> int:
    """A port of loopback that nobody listens on."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
    return port


@pytest.mark.attack("the proxy is dead", "the sentence names its host, port and variable, and not its password")
@pytest.mark.parametrize("scheme", ["http", "https"])
def test_a_dead_proxy_is_named(scheme: str, closed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(f"{scheme}_proxy", f"http://user:{PASSWORD}@127.0.0.1:{closed}")
    monkeypatch.setenv("no_proxy", "direct.invalid")
    with pytest.raises(ModelError) as caught:
        ask(f"{scheme}://proxied.invalid/v1#tiny", question("?"))
    assert str(caught.value) == (
        f"cannot connect to the proxy 127.0.0.1:{closed} ({scheme.upper()}_PROXY): Connection refused"
    )
    assert caught.value.kind == "connection"
    with pytest.raises(ModelError, match=r"cannot connect to direct\.invalid: "):
        ask(f"{scheme}://direct.invalid/v1#tiny", question("?"))


@pytest.mark.attack("the name of the proxy is unknown", "the sentence names the proxy")
def test_reports_unknown_proxy_host(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", f"http://user:{PASSWORD}@proxy.invalid:3128")
    with pytest.raises(ModelError, match=r"cannot connect to the proxy proxy\.invalid:3128 ") as no:
        ask("http://proxied.invalid/v1#tiny", question("?"))
    assert PASSWORD not in str(no.value)


def test_a_dead_proxy_before_the_run(
    closed: int, server: StandIn, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Loopback and what NO_PROXY names are asked without it."""
    monkeypatch.setenv("http_proxy", f"http://user:{PASSWORD}@127.0.0.1:{closed}")
    monkeypatch.chdir(tmp_path)
    Path("q.tsv").write_text("index\tquestion\tA\tB\tanswer\n1\tx?\ty\tz\tA\n")
    assert main(["run", "-m", "http://proxied.invalid/v1#m", "-b", "q.tsv"]) == 2
    said = capsys.readouterr().err
    assert f"cannot connect to the proxy 127.0.0.1:{closed} (HTTP_PROXY)" in said
    assert "correct that variable, or name the server's host in NO_PROXY" in said
    assert PASSWORD not in said
    assert main(["run", "-m", f"{server.url}#tiny", "-b", "q.tsv", "--no-html", "-q"]) == 0


@pytest.mark.attack("no name can be resolved", "the sentence names the host that was looked for")
def test_reports_unknown_host() -> None:
    with pytest.raises(ModelError, match=r"cannot connect to api\.invalid: ") as caught:
        ask("http://api.invalid/v1#tiny", question("?"))
    assert caught.value.kind == "connection"
