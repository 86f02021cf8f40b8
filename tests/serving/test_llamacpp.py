"""llama.cpp's llama-server with small language models, both from packages: text alone, since no
package carries a small model that looks at pictures."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from asking_remote import ask, picture, question, ranking
from package_servers import PackageServer, check_kill, check_stop, running
from release.server_packages import llama_server, make_environment, small_models

from snellen import Results, evaluate
from snellen.core.errors import ModelError, UsageError
from snellen.core.output import Generated
from snellen.models.naming.registry import open_model

pytestmark = [pytest.mark.release, pytest.mark.timeout(3000)]
NAME = "SmolLM2-135M-Instruct"
QUESTION = "What is the capital of France?"


@pytest.fixture(scope="module")
def start(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., AbstractContextManager[PackageServer]]:
    """Starts a server with two slots."""
    home = make_environment("llamacpp")
    model = small_models(home)[NAME]

    def command(port: int) -> list[str | Path]:
        words: list[str | Path] = [llama_server(home), "-m", model, "--alias", NAME]
        return [
            *words,
            "--host",
            "127.0.0.1",
            "--port",
            str(port),
            "--ctx-size",
            "2048",
            "--parallel",
            "2",
            "--threads",
            "1",
        ]

    return partial(running, command, tmp_path_factory.mktemp("llamacpp") / "log", "/health")


@pytest.fixture(scope="module")
def llama(start: Callable[..., AbstractContextManager[PackageServer]]) -> Iterator[PackageServer]:
    with start() as server:
        yield server


def spec(server: PackageServer, options: str = "", model: str = NAME) -> str:
    return f"llamacpp/{model}:base_url={server.base_url}{options}"


def one(spec: str, *parts: bytes | str, **settings: Any) -> Generated:
    [output] = ask(spec, question(*parts, **{"max_new_tokens": 16, **settings}))
    assert isinstance(output, Generated)
    return output


def test_a_reply_its_end_and_its_usage(llama: PackageServer) -> None:
    reply = one(spec(llama), QUESTION)
    assert reply.usage is not None
    assert reply.usage.prompt_tokens > 10
    assert 0 < reply.usage.completion_tokens <= 16
    assert one(spec(llama), QUESTION, max_new_tokens=2).stop_reason == "length"
    word = reply.text.split()[1]
    assert one(spec(llama), QUESTION, stop=(word,)).text == reply.text[: reply.text.index(word)].strip()
    assert one(spec(llama, ",stream=yes"), QUESTION).text == reply.text


def test_log_probabilities_are_of_the_first_token(llama: PackageServer) -> None:
    reply = one(spec(llama), QUESTION, logprobs=5)
    assert len(reply.first_logprobs) == 5
    assert sum(map(math.exp, reply.first_logprobs.values())) <= 1 + 1e-6
    best = max(reply.first_logprobs, key=reply.first_logprobs.__getitem__)
    assert reply.text.startswith(best.strip())
    streamed = one(spec(llama, ",stream=yes"), QUESTION, logprobs=5)
    assert streamed.first_logprobs.keys() == reply.first_logprobs.keys()


def test_a_seed_repeats_a_sampled_reply(llama: PackageServer) -> None:
    draws = [one(spec(llama), QUESTION, temperature=1.5, seed=seed).text for seed in (1, 2, 3, 4, 1)]
    assert draws[0] == draws[-1]
    assert len(set(draws)) > 1


def test_anthropics_api_of_the_same_server(llama: PackageServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "none")
    chat = one(spec(llama), QUESTION)
    name = f"anthropic/{NAME}:base_url={llama.base_url}"
    for options in ("", ",stream=yes"):
        message = one(name + options, QUESTION)
        assert message.text == chat.text
        assert message.usage is not None
        assert chat.usage is not None
        assert message.usage.completion_tokens == chat.usage.completion_tokens


def test_a_picture_is_refused_and_not_sent_again(llama: PackageServer) -> None:
    with pytest.raises(ModelError) as caught:
        one(spec(llama), picture(), QUESTION)
    assert caught.value.kind in ("request", "unsupported")
    assert "image" in str(caught.value)


def test_a_prompt_that_is_too_long(llama: PackageServer) -> None:
    with pytest.raises(ModelError) as caught:
        one(spec(llama), "word " * 4000)
    assert caught.value.kind == "too_long"


def test_it_scores_no_given_text(llama: PackageServer) -> None:
    with pytest.raises(ModelError, match="rank=echo"):
        ask(spec(llama, ",rank=echo"), ranking(QUESTION, candidates=("Paris", "Rome")))


def test_another_name_than_the_server_has(llama: PackageServer) -> None:
    model: Any = open_model(spec(llama, model="llama-70b"))
    with pytest.raises(UsageError, match=rf"no model 'llama-70b'; it serves {NAME}"):
        asyncio.run(model.check())


def test_the_only_model_of_the_list(llama: PackageServer) -> None:
    assert open_model(llama.base_url).identity.name == NAME


@pytest.fixture
def questions(tmp_path: Path) -> Path:
    """Without pictures."""
    file = tmp_path / "questions.csv"
    rows = (f"{n},What is {n} plus {n}?,{2 * n},{n},{3 * n + 1},0,A" for n in range(1, 61))
    file.write_text("index,question,A,B,C,D,answer\n" + "\n".join(rows) + "\n")
    return file


def run(server: PackageServer, questions: Path, concurrency: int = 32, **how: Any) -> Results:
    return again(spec(server), questions, concurrency, **how)


def again(name: str, questions: Path, concurrency: int = 4, **how: Any) -> Results:
    options = f"concurrency={concurrency},max_new_tokens=4"
    name += f",{options}" if "base_url" in name else f":{options}"
    return evaluate(name, str(questions), out=questions.parent / "out", html=False, **how)


def test_more_requests_than_slots_all_get_their_answer(llama: PackageServer, questions: Path) -> None:
    (whole,) = run(llama, questions).runs
    assert (whole.info.status, whole.info.counts.done, whole.info.counts.failed) == ("complete", 60, 0)


def test_a_run_is_stopped_and_goes_on(llama: PackageServer, questions: Path) -> None:
    check_stop(partial(run, llama, questions, 4), 8, 60)


def test_a_server_that_is_killed(start: Callable[..., Any], questions: Path) -> None:
    check_kill(start, lambda server, **how: again(f"{server.base_url}#{NAME}", questions, **how), 60)
