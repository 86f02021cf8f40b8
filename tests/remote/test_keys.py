"""Keys: sent to their server, and to be found nowhere else."""

from __future__ import annotations

import asyncio
import base64
import copy
import html
import json
import re
import sqlite3
import time
import urllib.parse
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec
import pytest
from aiohttp import web
from asking_remote import ask, question
from standin_server import StandIn, chat_reply, running

from snellen.cli import main
from snellen.core.errors import ModelError, UsageError
from snellen.core.output import Generated
from snellen.core.secret import MASK, MIN_LENGTH, Secret, hide
from snellen.models.naming.registry import open_model
from snellen.settings import read_secret

KEY = "sk-Q7/zt+4Vw9=KxR2mB8dL5"
PART = 8
"""Characters of a key that are too many to show."""


@pytest.fixture
def other() -> Iterator[StandIn]:
    """A second server, to which a redirect leads."""
    with running() as stand_in:
        yield stand_in


@pytest.fixture(autouse=True)
def keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("ANTHROPIC_API_KEY", "GOOGLE_API_KEY", "OPENAI_API_KEY", "AZURE_OPENAI_API_KEY"):
        monkeypatch.setenv(name, KEY)
    monkeypatch.delenv("GEMINI_API_KEY", raising=False)


@pytest.mark.parametrize("show", [str, repr, "{}".format, "{:>9}".format, "%s".__mod__])
def test_a_secret_prints_as_asterisks(show: Callable[[object], str]) -> None:
    assert show(Secret(KEY)) == MASK


@pytest.mark.parametrize("store", [json.dumps, msgspec.json.encode, msgspec.to_builtins, copy.copy, copy.deepcopy])
def test_a_secret_is_not_stored(store: Callable[[object], object]) -> None:
    with pytest.raises(TypeError):
        store(Secret(KEY))


def test_a_secret_comes_from_the_first_variable_that_is_set() -> None:
    secret = read_secret(("A", "B"), {"A": " ", "B": f" {KEY} "})
    assert secret is not None
    assert secret.reveal() == KEY
    assert read_secret(("A",), {}) is None


@pytest.mark.parametrize(
    "written",
    [
        KEY,
        urllib.parse.quote(KEY, safe=""),
        "".join(f"%{ord(sign):02x}" for sign in KEY),
        KEY.replace("/", "\\/"),
        "".join(f"\\u{ord(sign):04X}" for sign in KEY),
        json.dumps(json.dumps(KEY.replace("/", "\\/"))).strip('"\\'),
    ],
)
def test_a_secret_is_hidden_as_it_may_be_written(written: str) -> None:
    secret = Secret(KEY)
    assert hide(f"before {written} after {written}.") == f"before {MASK} after {MASK}."
    assert secret.reveal() == KEY


@pytest.mark.parametrize(
    "written",
    [
        KEY.upper(),
        " ".join(KEY),
        f"{KEY[:9]}\n{KEY[9:]}",
        f"{KEY[:9]}\\n{KEY[9:]}",
        "\u200b".join(KEY),
        "\u00ad".join(KEY),
        html.escape(KEY).replace("+", "&#43;").replace("/", "&#x2F;").replace("=", "&equals;"),
        urllib.parse.quote(KEY, safe="").lower(),
        base64.b64encode(KEY.encode()).decode(),
        base64.urlsafe_b64encode(f"?{KEY}".encode()).decode(),
        base64.b64encode(f"me:{KEY}".encode()).decode(),
        base64.encodebytes(f"Authorization: Bearer {KEY}, and some more".encode()).decode(),
        KEY.encode().hex(),
        urllib.parse.quote(" ".join(KEY)),
    ],
)
def test_a_secret_is_hidden_in_other_spellings(written: str) -> None:
    secret = Secret(KEY)
    hidden = hide(f"before {written} after")
    assert MASK in hidden
    folded = "".join(re.findall(r"[a-z0-9+/=]", hidden.lower()))
    assert not parts_in(folded, KEY.lower().replace("-", ""))
    core = base64.b64encode(KEY.encode()).decode()[2:26].lower()
    assert not parts_in(folded, core)
    assert not parts_in(folded, KEY.encode().hex())
    assert secret.reveal() == KEY


@pytest.mark.parametrize(
    "text",
    [
        r"$\frac{1}{2} \times \theta = 50\%$ & so \boxed{B}",
        "It is sk-Q7/zt+4Vw9, a part.",
        "QUJDREVGR0hJSktMTU5PUFFSU1RVVldYWVo=",
        "%E9%94%81 &amp; \\u00e9 \u200b猫",
    ],
)
def test_other_texts_are_left_as_they_are(text: str) -> None:
    secret = Secret(KEY)
    assert hide(text) == text
    assert secret.reveal() == KEY


def test_hiding_takes_linear_time() -> None:
    secret = Secret(KEY)

    def seconds(count: int) -> float:
        text = (KEY[:-1] + " " * 50 + "s\\n k - ") * count + KEY
        start = time.process_time()
        assert hide(text).endswith(MASK)
        return time.process_time() - start

    ratio = min(seconds(2_000) / seconds(1_000) for _ in range(3))
    assert ratio < 2.5
    assert secret.reveal() == KEY


def test_a_word_for_a_key_is_left_in_texts() -> None:
    short = Secret("A" * (MIN_LENGTH - 1))
    assert hide(f"the answer is {short.reveal()}") == f"the answer is {short.reveal()}"


def check(spec: str) -> None:
    """What a run does before it asks anything."""
    model: Any = open_model(spec)
    asyncio.run(model.check())


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
@pytest.mark.parametrize("provider", ["anthropic", "google", "openai", "azure"])
@pytest.mark.attack("a redirect to another host", "no header with a key goes there")
def test_a_redirect_takes_no_key_along(provider: str, status: int, server: StandIn, other: StandIn) -> None:
    """As the answer to a request, and to the question for the models that a server has."""
    spec = f"{provider}/x:base_url={server.url}"
    headers = {"Location": f"{other.url}/models"}
    server.listing = lambda request: web.Response(status=status, headers=headers)
    server.says({"error": {"message": "no such model"}}, 404)
    with pytest.raises(UsageError, match="no such model"):
        check(spec)
    assert len(server.got) == (0 if provider == "azure" else 1)
    with pytest.raises(UsageError, match="has moved to"):
        open_model(f"{server.url}:key_env=OPENAI_API_KEY")
    server.models = ["x"]
    server.says({}, status, **headers)
    with pytest.raises(ModelError, match="has moved to") as caught:
        ask(spec, question("?"))
    assert caught.value.kind == "request"
    assert KEY in "".join(server.headers[-1].values())
    assert (other.asked, other.got) == ([], [])


@pytest.mark.attack("a list of models that holds the key", "the key is not shown")
def test_a_model_named_like_the_key_is_not_shown(server: StandIn) -> None:
    server.models = [f"{KEY}-a", f"{KEY}-b"]
    with pytest.raises(UsageError) as caught:
        open_model(f"{server.url}:key_env=OPENAI_API_KEY")
    assert KEY[:PART] not in str(caught.value)
    with pytest.raises(UsageError, match="has no model 'x'") as caught:
        check(f"openai/x:base_url={server.url}")
    assert KEY[:PART] not in str(caught.value)


@pytest.mark.attack("a reply that repeats the key", "the reply is kept without it")
def test_an_answer_that_repeats_the_key(server: StandIn) -> None:
    server.says(chat_reply(f"It is {KEY}.", reasoning_content=f"Was it {KEY}?"))
    [output] = ask(f"openai/tiny:base_url={server.url}", question("?"))
    assert isinstance(output, Generated)
    assert (output.text, output.reasoning) == (f"It is {MASK}.", f"Was it {MASK}?")


def test_tokens_of_log_probabilities_hold_no_key(server: StandIn) -> None:
    top = [{"token": KEY, "logprob": -2}, {"token": "A", "logprob": -0.1}]
    top.append({"token": f" {KEY.upper()}", "logprob": -1})
    first = {"token": "A", "logprob": -0.1, "top_logprobs": top}
    reply = chat_reply("A")
    reply["choices"][0]["logprobs"] = {"content": [first]}
    server.says(reply)
    [output] = ask(f"openai/tiny:base_url={server.url},logprobs=yes", question("?", logprobs=3))
    assert isinstance(output, Generated)
    assert output.first_logprobs == {MASK: -2.0, "A": -0.1, f" {MASK}": -1.0}


def parts_in(text: str, key: str = KEY) -> set[str]:
    return {key[i : i + PART] for i in range(len(key) - PART + 1) if key[i : i + PART] in text}


def written(folder: Path) -> dict[str, str]:
    """The text of every file, those of the store's tables too."""
    files = {str(path): path for path in folder.rglob("*") if path.is_file()}
    texts = {name: name + path.read_bytes().decode("latin-1") for name, path in files.items()}
    for name, path in files.items():
        if path.suffix == ".sqlite":
            with closing(sqlite3.connect(path)) as base:
                texts[name] += "\n".join(base.iterdump())
    return texts


OFFSETS = range(250, 311)


def replies() -> list[tuple[int, dict[str, str], object]]:
    """Status, headers and body: a key at each place around the cut, in each kind of message."""
    told = [f"{'x' * (offset - 1)} {KEY} was refused" for offset in OFFSETS]
    found: list[tuple[int, dict[str, str], object]] = []
    for text in told:
        safe = urllib.parse.quote(text, safe="")
        found += [
            (400, {}, {"error": {"message": text}}),
            (200, {}, {"error": {"message": text, "code": 400}}),
            (422, {}, text.encode()),
            (302, {"Location": f"https://example.org/?{safe}"}, {}),
            (307, {"Location": f"https://example.org/?key={KEY}&{safe}"}, {}),
            (200, {}, [text[200:]]),
            (200, {}, {"id": text[200:], "key": KEY}),
            (200, {}, f"{text[200:]}".encode()),
            (400, {}, {"error": {"message": f"content_filter {text}"}}),
            (200, {}, chat_reply(text)),
        ]
    return found


@pytest.mark.attack("a key in bodies, addresses and around every cut", "no part of it in any file or stream")
def test_no_file_and_no_stream_holds_the_key(
    server: StandIn, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """Each of some hundred replies answers one question."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SNELLEN_CACHE", str(tmp_path / "cache"))
    given = replies()
    rows = [f"{i}\tWhat is {i}?\tone\ttwo\tA" for i in range(len(given))]
    Path("q.tsv").write_text("\n".join(["index\tquestion\tA\tB\tanswer", *rows]) + "\n")

    async def leak(request: web.Request, asked: dict[str, Any]) -> web.StreamResponse:
        content = asked["messages"][-1]["content"]
        if "What is " not in content:
            return web.json_response(chat_reply("A"))
        status, headers, body = given[int(content.split("What is ")[1].split("?")[0])]
        if isinstance(body, bytes):
            return web.Response(body=body, status=status, headers=headers)
        return web.json_response(body, status=status, headers=headers)

    server.handler = leak
    spec = f"openai/tiny:base_url={server.url}"
    words = ["run", "-m", spec, "-b", "q.tsv", "--requests", "retries=0", "--requests", "max_failures=100%"]
    assert main(words) == 1
    said = capfd.readouterr()
    texts = {"out": said.out, "err": said.err, **written(tmp_path)}
    assert not {name: parts_in(text) for name, text in texts.items() if parts_in(text)}
    assert MASK in "".join(texts.values())
    assert {"failures.jsonl", "samples.jsonl", "report.html", "store.sqlite"} <= {Path(name).name for name in texts}


@pytest.mark.parametrize("number", range(9))
def test_no_sentence_about_a_first_reply_holds_the_key(number: int, server: StandIn) -> None:
    status, headers, body = replies()[number + 10 * (260 - OFFSETS[0])]
    server.says(body, status, **headers)
    spec = f"openai/tiny:base_url={server.url}"
    if number in (6, 7, 8):  # half a reply may be whole the next time; a filter spoke
        check(spec)
        return
    with pytest.raises(UsageError) as caught:
        check(spec)
    assert not parts_in(str(caught.value))
    assert MASK in str(caught.value)


@pytest.mark.parametrize(
    ("spec", "sentence"),
    [
        (f"http://user:{KEY.replace('/', '')}@h:1/v1#m", "the address of h holds"),
        (f"http://{KEY.replace('/', '')}@h/v1#m:key_env=MY_KEY", "put the key into MY_KEY"),
        (f"http://u:{KEY.replace('/', '')}@h/v1#m:nonsense", "the address of h holds"),
        (f"openai/m:base_url=https://u:{KEY.replace('/', '')}@h/v1", "name that with key_env=NAME"),
        (f"http://h:1/v1?api_key={KEY.replace('/', '')}#m", "the address of h holds a ?"),
        (f"openai/m:base_url=https://h/v1?k={KEY.replace('/', '')}", "the address of h holds a ?"),
    ],
)
@pytest.mark.attack("a password or key in an address", "refused in a sentence without it")
def test_a_password_in_an_address_is_refused(
    spec: str, sentence: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SNELLEN_CACHE", str(tmp_path / "cache"))
    Path("q.tsv").write_text("index\tquestion\tA\tB\tanswer\n1\tx?\ty\tz\tA\n")
    for command in (["run"], ["plan"]):
        assert main([*command, "-m", spec, "-b", "q.tsv"]) == 2
        said = capfd.readouterr()
        assert sentence in said.err
        texts = {"out": said.out, "err": said.err, **written(tmp_path)}
        password = KEY.replace("/", "")
        assert not [name for name, text in texts.items() if password[:PART] in text]


@pytest.mark.attack("a proxy with a password fails", "the proxy is named, the password is not")
def test_the_password_of_a_proxy_is_not_shown(server: StandIn, monkeypatch: pytest.MonkeyPatch) -> None:
    place = server.url.removeprefix("http://").removesuffix("/v1")
    monkeypatch.setenv("https_proxy", f"http://user:{KEY.replace('/', '')}@{place}")
    monkeypatch.setenv("no_proxy", "direct.invalid")
    with pytest.raises(ModelError) as caught:
        ask("https://proxied.invalid/v1#tiny", question("?"))
    assert str(caught.value) == f"the proxy {place} (HTTPS_PROXY) answers 404"
    assert caught.value.kind == "connection"
