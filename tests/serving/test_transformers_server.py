"""`transformers serve` with the bundled model: what its server does besides what `test_managed.py` and
`test_litellm.py` ask of it."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from asking_remote import ask, picture, question
from package_servers import PackageServer, asked, check_stop, running

from snellen.core.output import Generated
from snellen.models.hf.bundled import WEIGHTS

pytestmark = [pytest.mark.release, pytest.mark.timeout(1800)]
TINY = WEIGHTS / "tiny"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PackageServer]:
    program = Path(sys.executable).with_name("transformers")

    def command(port: int) -> list[str | Path]:
        return [program, "serve", TINY, "--host", "127.0.0.1", "--port", str(port)]

    with running(command, tmp_path_factory.mktemp("transformers") / "log", "/health") as started:
        yield started


def one(server: PackageServer, *parts: bytes | str, **settings: Any) -> Generated:
    asked_for = question(*parts, **{"max_new_tokens": 8, **settings})
    [output] = ask(f"transformers/{TINY}:base_url={server.base_url}", asked_for)
    assert isinstance(output, Generated)
    return output


def test_stop_strings_which_it_cannot_keep_are_kept(server: PackageServer) -> None:
    """Sent to it, they are an error 500 for a model with a processor."""
    shown = (picture(size=(64, 64)), "Which colour?")
    whole = one(server, *shown)
    word = whole.text.split()[-1]
    assert one(server, *shown, stop=(word,)).text == whole.text[: whole.text.index(word)].strip()


def test_sampled_replies_and_a_longer_reply_than_allowed(server: PackageServer) -> None:
    assert one(server, "What is this?", max_new_tokens=1).stop_reason == "length"
    sampled = one(server, "What is this?", temperature=1.0, top_p=0.9, top_k=5, seed=3)
    assert sampled.stop_reason in ("stop", "length")


def test_more_requests_than_it_runs_at_once(server: PackageServer, tmp_path: Path) -> None:
    name = f"transformers/{TINY}:base_url={server.base_url},concurrency=64"
    whole = check_stop(partial(asked, name, tmp_path, 80), 10, 80)
    (here,) = asked("snellen/tiny", tmp_path, 80).runs
    texts = [{record.id: record.passes[-1].output for record in run.records()} for run in (whole, here)]
    assert {name: output.text for name, output in texts[0].items() if isinstance(output, Generated)} == {
        name: output.text for name, output in texts[1].items() if isinstance(output, Generated)
    }
