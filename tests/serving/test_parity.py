"""Two backends of one model: what is compared, and what counts as equal."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from snellen.api.backend_parity import parity
from snellen.cli import main
from snellen.core.model import RenderedPrompt
from snellen.core.output import Failure, Generated, Output, Usage
from snellen.core.request import Text, user
from snellen.engine.offline.parity import Aspect, BackendReply, Parity, ParityCheck, ParityQuestion, compare, word_diff
from snellen.models.hf.bundled import WEIGHTS

LIKELY = {"A": -0.1, "B": -2.5}


def told(
    text: str = "A",
    prompt: str | None = "<user> Which? ",
    sizes: tuple[tuple[int, int], ...] = ((8, 8),),
    tokens: int = 12,
    pixels: tuple[str, ...] | None = ("0a",),
    likely: dict[str, float] | None = None,
) -> BackendReply:
    likely = LIKELY if likely is None else likely
    output = Generated(text, first_logprobs=likely, usage=Usage(tokens, 1))
    return BackendReply(output, RenderedPrompt(prompt, sizes, pixels))


def found(*pairs: tuple[BackendReply, BackendReply]) -> Parity:
    messages = (user(Text("Which?")),)
    questions = [ParityQuestion(str(at), messages, *pair) for at, pair in enumerate(pairs)]
    return compare("one", "other", "mine", questions)


def check(parity: Parity, aspect: Aspect) -> ParityCheck:
    return next(one for one in parity.checks if one.aspect == aspect)


def test_equal_in_everything() -> None:
    same = found((told(), told()), (told("B"), told("B")))
    assert same.equal
    assert [(one.compared, one.equal, one.silent) for one in same.checks] == 6 * [(2, 2, ())]


@pytest.mark.parametrize(
    ("aspect", "other"),
    [
        ("rendered prompt", told(prompt="<system> Be kind. <user> Which? ")),
        ("image sizes", told(sizes=((4, 4),))),
        ("image sizes", told(sizes=((8, 8), (8, 8)))),
        ("image pixels", told(pixels=("0b",))),
        ("prompt tokens", told(tokens=13)),
        ("reply", told("B")),
        ("log-probabilities", told(likely={"A": -0.13, "B": -2.5})),
        ("log-probabilities", told(likely={"C": -0.1})),
        ("log-probabilities", told(likely={"A": -0.11, "B": -0.10})),
    ],
)
def test_each_aspect_alone_makes_a_difference(aspect: Aspect, other: BackendReply) -> None:
    parity = found((told(), told()), (told(), other))
    assert not parity.equal
    assert [one.aspect for one in parity.checks if not one.same] == [aspect]
    assert [one.sample for one in check(parity, aspect).differences] == ["1"]


def test_log_probabilities_may_differ_by_the_tolerance() -> None:
    parity = found((told(), told(likely={"A": -0.115, "B": -2.5, "C": -9.0})))
    assert parity.equal
    assert check(parity, "log-probabilities").largest == pytest.approx(0.015)


def test_unreported_aspects_are_not_compared() -> None:
    silent = BackendReply(Generated("A"))
    parity = found((told(), silent))
    assert parity.equal
    for one in parity.checks:
        assert (one.compared, one.silent) == ((1, ()) if one.aspect == "reply" else (0, ("other",)))


def test_a_question_without_log_probabilities_hides_no_later_one() -> None:
    parity = found((told(), BackendReply(Generated("A"))), (told(), told(likely={"C": -0.1})))
    found_check = check(parity, "log-probabilities")
    assert (found_check.compared, found_check.same, found_check.silent) == (1, False, ("other",))


def test_failure_is_neither_difference_nor_equality() -> None:
    broken: Output = Failure("connection", "nobody there")
    parity = found((told(), told()), (told(), BackendReply(broken)))
    assert not parity.equal
    assert all(one.same and one.compared == 1 for one in parity.checks)
    assert parity.failed == {"other": 1}
    assert parity.failure == "other: nobody there"


@pytest.mark.parametrize(
    ("first", "second", "words"),
    [
        ("the red square", "the blue square", "the [-red-] {+blue+} square"),
        ("A", "A because", "A {+because+}"),
        ("so A", "A", "[-so-] A"),
    ],
)
def test_word_diff(first: str, second: str, words: str) -> None:
    assert word_diff(first, second) == words


def ask(capsys, out: Path, *words: str) -> tuple[int, str]:
    code = main(["parity", *words, "-b", "eyechart", "--out", str(out)])
    return code, capsys.readouterr().out


def test_a_model_is_equal_to_itself_under_another_name(tmp_path: Path, capsys) -> None:
    models = ["-m", "snellen/tiny", "-m", f"hf/{WEIGHTS / 'tiny'}"]
    code, out = ask(capsys, tmp_path, *models, "--limit", "12", "--json")
    card = json.loads(out)
    assert (code, card["equal"]) == (0, True)
    assert [(one["compared"], one["equal"]) for one in card["checks"]] == 6 * [(12, 12)]
    assert card["checks"][-1]["largest"] < 1e-4


def test_another_checkpoint_is_different_and_examples_say_how(tmp_path: Path, capsys) -> None:
    models = ["-m", "snellen/tiny", "-m", "snellen/tiny-early"]
    code, out = ask(capsys, tmp_path, *models, "--limit", "12")
    assert code == 1
    assert out.splitlines()[-1] == "different: reply, log-probabilities"
    assert "[-A-] {+B+}" in out


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["-m", "random"], "compares two models; got 1"),
        (["-m", "random", "-m", "random:seed=1", "--limit", "0"], "expected at least 1"),
        (["-m", "random", "-m", "random:seed=1", "--tolerance", "-1"], "expected 0 or more"),
    ],
)
def test_mistakes_give_one_sentence(tmp_path: Path, capsys, words: list[str], sentence: str) -> None:
    code = main(["parity", *words, "-b", "eyechart", "--out", str(tmp_path)])
    assert code == 2
    assert sentence in capsys.readouterr().err


def test_unreachable_address_is_reported_before_asking(tmp_path: Path, capsys) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{free.getsockname()[1]}/v1"
    models = ["-m", "random", "-m", f"{address}#m"]
    assert main(["parity", *models, "-b", "eyechart", "--out", str(tmp_path)]) == 2
    said = capsys.readouterr().err
    assert f"{address} cannot be reached" in said
    assert "nothing was asked yet" in said


class TellsPrompts(BaseHTTPRequestHandler):
    """Says A to everything, and tells its prompt as vLLM does: a token is a code point."""

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.path == "/v1/chat/completions":
            message = {"role": "assistant", "content": "A"}
            answer = {"choices": [{"message": message, "finish_reason": "stop"}]}
        elif self.path == "/tokenize" and body["add_generation_prompt"]:
            parts = body["messages"][0]["content"]
            texts = [part.get("text", "<image>") for part in parts]
            answer = {"tokens": [ord(sign) for sign in "".join(texts)]}
        else:
            assert self.path == "/detokenize"
            answer = {"prompt": "".join(map(chr, body["tokens"]))}
        data = json.dumps(answer).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: object) -> None:
        """Quiet."""


@pytest.fixture
def teller() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), TellsPrompts)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/v1"
    server.shutdown()
    thread.join()
    server.server_close()


def test_prompt_is_requested_from_a_server_that_reports_it(tmp_path: Path, teller: str) -> None:
    one = f"vllm/m:base_url={teller}"
    small = f"vllm/m:base_url={teller},image_size=64"
    compared = parity([one, small], "eyechart", limit=4, out=tmp_path)
    prompts, sizes = check(compared, "rendered prompt"), check(compared, "image sizes")
    assert (prompts.compared, prompts.equal) == (4, 4)
    assert (sizes.compared, sizes.equal) == (4, 0)
    assert sizes.differences[0].first.startswith("128 x 128")
    assert sizes.differences[0].second.startswith("64 x 64")
    assert (check(compared, "image pixels").compared, check(compared, "image pixels").equal) == (4, 0)


class Says(BaseHTTPRequestHandler):
    """Says one letter to everything, under one model name."""

    letter = "A"

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        message = {"role": "assistant", "content": self.letter}
        data = json.dumps({"choices": [{"message": message, "finish_reason": "stop"}]}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: object) -> None:
        """Quiet."""


@contextmanager
def saying(letter: str) -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("Letter", (Says,), {"letter": letter}))
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1#m"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def test_same_name_at_two_addresses_is_asked_at_both(tmp_path: Path) -> None:
    with saying("A") as one, saying("B") as other:
        for _ in range(2):
            compared = parity([one, other], "eyechart", limit=4, out=tmp_path)
            replies = check(compared, "reply")
            assert (replies.compared, replies.equal) == (4, 0)
            assert (compared.first, compared.second) == (one, other)
        again = parity([one, one], "eyechart", limit=4, out=tmp_path)
        assert check(again, "reply").equal == 4
        assert again.second == f"{one} again"
