"""Names, options, keys and addresses of models behind servers."""

from __future__ import annotations

import asyncio
import re
import subprocess
import sys
from typing import Any

import pytest
from asking_remote import ask, question
from standin_server import StandIn

from snellen.core.errors import MissingExtra, ModelError, UsageError
from snellen.core.model import CheckableModel, RemoteModel
from snellen.models.naming.registry import open_model, registered_models
from snellen.models.remote.address import find_origin
from snellen.models.remote.profile import profiles
from snellen.settings import first_nonblank

URLS = ("http", "https")


@pytest.fixture(autouse=True)
def no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for profile in profiles().values():
        for name in (*profile.key_env, *profile.base_url_env):
            monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize("name", sorted(set(profiles()) - set(URLS)))
def test_every_provider_opens(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    profile = profiles()[name]
    for variable in profile.key_env[-1:]:
        monkeypatch.setenv(variable, "k")
    for variable in profile.base_url_env[:1]:
        monkeypatch.setenv(variable, "https://example.org/v1")
    for variables in profile.place.values():
        monkeypatch.setenv(variables[-1], "somewhere")
    model: Any = open_model(f"{name}/org/model-1")
    assert isinstance(model, RemoteModel)
    assert isinstance(model, CheckableModel)
    assert (model.identity.provider, model.identity.name) == (name, "org/model-1")
    assert model.identity.facts == {}
    assert model.capabilities.inputs == {"text", "image"}


@pytest.mark.parametrize("address", ["https://proxy.test/v1", "https://proxy.test/v1/chat/completions"])
def test_the_address_that_vlmevalkit_reads_is_not_ignored(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    monkeypatch.setenv("OPENAI_API_BASE", address)
    profile = profiles()["openai"]
    assert find_origin("openai", profile, {}).base_url == "https://proxy.test/v1"
    monkeypatch.setenv("OPENAI_BASE_URL", "https://other.test/v1")
    assert find_origin("openai", profile, {}).base_url == "https://other.test/v1"


def test_every_provider_is_listed() -> None:
    listed = {model.name for model in registered_models()}
    assert {f"{name}/<model>" for name in set(profiles()) - set(URLS)} <= listed
    assert "http://<host>:<port>/v1#<model>" in listed


@pytest.mark.parametrize(
    ("spec", "sentence"),
    [
        ("openai/gpt-4o", "openai models need a key: set OPENAI_API_KEY in the environment"),
        ("google/gemini-x", "set GEMINI_API_KEY or GOOGLE_API_KEY"),
        ("openai/x:key_env=NO_SUCH_KEY", "set NO_SUCH_KEY"),
        ("http://h/v1#x:key_env=NO_SUCH_KEY", "set NO_SUCH_KEY"),
        ("ollama/x:concurency=3", "no option 'concurency'; known options: "),
        ("ollama/x:concurrency=0", "expected a whole number above 0"),
        ("ollama/x:images=2", "expected one of native, first, none, video"),
        ("ollama/x:body.=2", "expected body.<field>=<value>"),
        ("ollama/x:body.a=2,body.a.b=1", "a is already a plain value"),
        ("ollama/x:base_url=localhost", "'localhost' is not a URL; expected e.g. http://"),
        ("http://:8000/v1#x", "is not a URL"),
        ("http://host:80000/v1#x", "is not a URL"),
        ("ollama/x:video=native", "ollama takes no whole videos, only frames"),
        ("ollama/x:images=video", "ollama takes no frames as a video"),
        ("google/x:images=video", "google takes no frames as a video"),
        ("anthropic/x:rank=echo", "anthropic has one endpoint and ranks nothing"),
        ("azure/x", "base_url=https://... or set AZURE_OPENAI_ENDPOINT"),
    ],
)
def test_a_wrong_name_or_option_gets_one_sentence(spec: str, sentence: str) -> None:
    with pytest.raises(UsageError, match=re.escape(sentence)) as caught:
        open_model(spec)
    assert "\n" not in str(caught.value)


def test_a_provider_needs_a_model(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    with pytest.raises(UsageError, match="openai needs a model: openai/<model>"):
        open_model("openai")


def test_effort_in_words_that_the_provider_lacks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "k")
    with pytest.raises(UsageError, match="expected low, medium, high or a number"):
        open_model("anthropic/claude-x:reasoning_effort=much")


def test_thinking_counted_in_tokens(server: StandIn, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DASHSCOPE_API_KEY", "k")
    with pytest.raises(UsageError, match="expected a number of tokens"):
        open_model("dashscope/qwen-x:reasoning_effort=high")
    ask(f"dashscope/tiny:base_url={server.url},reasoning_effort=500", question("?"))
    assert {"enable_thinking": True, "thinking_budget": 500}.items() <= server.asked[0].items()


def test_a_key_with_a_line_break(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "one\ntwo")
    with pytest.raises(UsageError, match="line break") as caught:
        open_model("openai/x")
    assert "two" not in str(caught.value)


@pytest.mark.parametrize("address", ["{}", "{}/", "{}/chat/completions", "{}/models", "{}#tiny", "{}/#tiny"])
def test_addresses_as_people_write_them(server: StandIn, address: str) -> None:
    assert [getattr(one, "text", "") for one in ask(address.format(server.url), question("?"))] == ["A"]
    bare = server.url.removesuffix("/v1")
    assert ask(f"{bare}#tiny", question("?"))


def test_of_several_models_one_must_be_named(server: StandIn) -> None:
    server.models = ["one", "two"]
    with pytest.raises(UsageError, match=r"serves one, two; name one: http.*/v1#one"):
        open_model(server.url)
    server.models = []
    with pytest.raises(UsageError, match="lists no models; name one"):
        open_model(server.url)


def test_the_one_model_is_found_inside_an_event_loop_too(server: StandIn) -> None:
    async def opened() -> str:
        return open_model(server.url).identity.name

    assert asyncio.run(opened()) == "tiny"


def test_identity_has_what_changes_replies_and_no_address(server: StandIn) -> None:
    options = "image_size=64,concurrency=3,timeout=9,body.top_k=1,reasoning_effort=low"
    model: Any = open_model(f"{server.url}#tiny:{options}")
    assert model.identity.provider == "server"
    assert model.identity.facts == {"image_size": "64", "body.top_k": "1", "reasoning_effort": "low"}
    assert model.concurrency == 3
    assert model.max_new_tokens is None
    longer: Any = open_model(f"{server.url}#tiny:max_new_tokens=9000")
    assert longer.max_new_tokens == 9000


def test_accounts_differ_by_address_and_key(server: StandIn, monkeypatch: pytest.MonkeyPatch) -> None:
    def account(spec: str) -> str:
        model: Any = open_model(spec)
        return str(model.account)

    monkeypatch.setenv("OPENAI_API_KEY", "sk-one")
    first = account("openai/a")
    assert first == account("openai/b")
    assert "sk-one" not in first
    monkeypatch.setenv("OPENAI_API_KEY", "sk-two")
    assert account("openai/a") != first


def test_no_temperature_for_reasoning_models(server: StandIn, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    server.models = ["o3-mini", "gpt-4o"]
    for name in server.models:
        ask(f"openai/{name}:base_url={server.url}", question("?", max_new_tokens=9))
    thinking, plain = server.asked
    assert "temperature" not in thinking
    assert plain["temperature"] == 0.0
    assert thinking["max_completion_tokens"] == 9


def test_uses_the_proxy(server: StandIn, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", server.url.removesuffix("/v1"))
    monkeypatch.setenv("no_proxy", "direct.invalid")
    assert ask("http://proxied.invalid/v1#tiny", question("?"))
    assert server.headers[0]["Host"] == "proxied.invalid"
    with pytest.raises(ModelError, match="cannot connect"):
        ask("http://direct.invalid/v1#tiny", question("?"))


def test_the_first_variable_that_is_set() -> None:
    env = {"A": " ", "B": " key ", "C": "other"}
    assert first_nonblank(("A", "B", "C"), env) == "key"
    assert first_nonblank(("A",), env) is None


@pytest.mark.parametrize(
    ("options", "path"),
    [
        ("", "/openai/v1/chat/completions"),
        (",api_version=2024-10-21", "/openai/deployments/dep/chat/completions?api-version=2024-10-21"),
    ],
)
def test_azure(options: str, path: str, monkeypatch: pytest.MonkeyPatch, server: StandIn) -> None:
    monkeypatch.setenv("AZURE_OPENAI_API_KEY", "k")
    server.models = ["dep"]
    ask(f"azure/dep:base_url={server.url.removesuffix('/v1')}/files{options}", question("?"))
    assert server.paths == [f"/files{path}"]
    assert server.headers[0]["api-key"] == "k"


def test_without_aiohttp_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    import importlib.util

    def absent(name: str) -> None:
        return None

    monkeypatch.setattr(importlib.util, "find_spec", absent)
    with pytest.raises(MissingExtra, match=r"ollama/x needs aiohttp.*snellen\[api\]"):
        open_model("ollama/x")


def test_listing_models_loads_no_client() -> None:
    program = (
        "import sys\n"
        "from snellen.models.naming.registry import registered_models\n"
        "registered_models()\n"
        "print({'aiohttp', 'asyncio', 'PIL'} & set(sys.modules))\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("set()\n", "")
