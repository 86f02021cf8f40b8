"""vLLM's server, its build for processors, with the bundled model: pictures, log-probabilities and
rankings beside those of the same weights in this process."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from asking_remote import ask, picture, question, ranking
from package_servers import PackageServer, asked, check_kill, check_stop, running, with_older_names
from release.server_packages import make_environment

from snellen.cli import main
from snellen.core.errors import ModelError, UsageError
from snellen.core.output import Generated, Ranked
from snellen.models.hf.bundled import WEIGHTS
from snellen.models.naming.registry import open_model

pytestmark = [pytest.mark.release, pytest.mark.timeout(3000)]
SHOWN = (picture(size=(64, 64)), "Which colour?")
LENGTH = 512


@pytest.fixture(scope="module")
def start(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., AbstractContextManager[PackageServer]]:
    home = tmp_path_factory.mktemp("vllm")
    model = with_older_names(WEIGHTS / "tiny", home / "tiny")
    program = make_environment("vllm") / "bin" / "vllm"

    def command(port: int) -> list[str | Path]:
        words: list[str | Path] = [program, "serve", model, "--served-model-name", "tiny", "--dtype", "float32"]
        words += ["--host", "127.0.0.1", "--port", str(port), "--max-model-len", str(LENGTH), "--enforce-eager"]
        return words

    variables = {"VLLM_CPU_KVCACHE_SPACE": "1", "VLLM_NO_USAGE_STATS": "1", "HF_HUB_OFFLINE": "1"}
    return partial(running, command, home / "log", "/health", variables, 900.0)


@pytest.fixture(scope="module")
def vllm(start: Callable[..., AbstractContextManager[PackageServer]]) -> Iterator[PackageServer]:
    with start() as server:
        yield server


def spec(server: PackageServer, options: str = "", model: str = "tiny") -> str:
    return f"vllm/{model}:base_url={server.base_url}{options}"


def one(spec: str, *parts: bytes | str, **settings: Any) -> Generated:
    [output] = ask(spec, question(*parts, **{"max_new_tokens": 8, **settings}))
    assert isinstance(output, Generated)
    return output


def test_every_aspect_is_that_of_the_model_in_process(vllm: PackageServer, tmp_path: Path, capsys: Any) -> None:
    """But for the prompt as text: vLLM tells it by decoding its tokens, in which the bundled model's
    tokenizer has put a blank in front of each text."""
    models = ["-m", "snellen/tiny", "-m", spec(vllm)]
    main(["parity", *models, "-b", "eyechart", "--limit", "24", "--out", str(tmp_path)])
    said = capsys.readouterr().out
    for aspect in ("image sizes", "image pixels", "prompt tokens", "reply", "log-probabilities"):
        (line,) = [line for line in said.splitlines() if line.startswith(aspect)]
        assert line.removeprefix(aspect).split()[:2] == ["24", "24"], said


def test_the_prompt_is_that_of_the_model_in_process(vllm: PackageServer) -> None:
    asked_for = question("Which colour?")
    here, there = (open_model(name) for name in ("snellen/tiny", spec(vllm)))
    (mine, theirs) = (asyncio.run(_rendered(model, asked_for)) for model in (here, there))
    assert theirs.replace("|> ", "|>") == mine
    assert theirs != mine


async def _rendered(model: Any, asked_for: Any) -> str:
    rendered = model.render_prompt(asked_for)
    rendered = await rendered if inspect.isawaitable(rendered) else rendered
    if hasattr(model, "close"):
        await model.close()
    assert isinstance(rendered.text, str)
    return rendered.text


def test_rankings_are_those_of_the_model_in_process(vllm: PackageServer) -> None:
    asked_for = ranking(*SHOWN, candidates=("red", "blue square"))
    in_process: Any = open_model("snellen/tiny")
    [here] = in_process.answer_batch([asked_for])
    [there] = ask(spec(vllm, ",rank=prompt_logprobs"), asked_for)
    assert isinstance(here, Ranked)
    assert isinstance(there, Ranked)
    for mine, theirs in zip(here.candidates, there.candidates, strict=True):
        assert theirs.logprob == pytest.approx(mine.logprob, abs=1e-3)
        assert theirs.tokens == mine.tokens


def test_a_stream_stop_strings_and_the_limit(vllm: PackageServer) -> None:
    whole = one(spec(vllm), *SHOWN)
    assert one(spec(vllm, ",stream=yes"), *SHOWN).text == whole.text
    assert one(spec(vllm), *SHOWN, max_new_tokens=1).stop_reason == "length"
    word = whole.text.split()[0]
    assert word not in one(spec(vllm), *SHOWN, stop=(word,)).text


def test_a_prompt_that_is_too_long(vllm: PackageServer) -> None:
    with pytest.raises(ModelError) as caught:
        one(spec(vllm), "word " * 3000)
    assert caught.value.kind == "too_long"


def test_another_name_than_the_server_has(vllm: PackageServer) -> None:
    model: Any = open_model(spec(vllm, model="qwen"))
    with pytest.raises(UsageError, match="no model 'qwen'; it serves tiny"):
        asyncio.run(model.check())
    assert open_model(vllm.base_url).identity.name == "tiny"


def test_more_requests_than_it_runs_at_once(vllm: PackageServer, tmp_path: Path) -> None:
    """Also stopped half way, and gone on with."""
    check_stop(partial(asked, spec(vllm, ",concurrency=200"), tmp_path, 300), 20, 300)


def test_a_server_that_is_killed(start: Callable[..., Any], tmp_path: Path) -> None:
    check_kill(start, lambda server, **how: asked(f"{server.base_url}#tiny:concurrency=4", tmp_path, 60, **how), 60)
