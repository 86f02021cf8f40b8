"""One-file servers: real environments made by uv, real processes, real ports."""

from __future__ import annotations

import ast
import base64
import hashlib
import json
import re
import shutil
import socket
import subprocess
import sys
import threading
import tomllib
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import psutil
import pytest
import torch
from own_code_checkpoints import BUILDERS
from packaging.requirements import Requirement
from PIL import Image

from snellen import evaluate
from snellen.api.planning import plan
from snellen.cli import main
from snellen.core.errors import UsageError
from snellen.core.output import Generated
from snellen.core.served_identity import ServedIdentity, identity_differences
from snellen.engine.servers.environments import server_environment
from snellen.engine.servers.managed import Servers
from snellen.engine.servers.process import ServerNotStarted, build_command
from snellen.models.environments import chat_server
from snellen.models.environments.chat_server import ChatMessages, ChatServer, ReplySettings
from snellen.models.hf.own_code.tiles import TileSettings, tile_images
from snellen.models.naming.catalog import catalog
from snellen.models.naming.environments import check_environment_file, environment_file, environment_recipes, zoo_folder
from snellen.models.naming.routes import find_environment, routes_of
from snellen.report.page.facts import fact_sections

FILE = Path(__file__).with_name("one_file_server.py")
ROOT = Path(__file__).parents[2]
HEADER = re.compile(r"^# /// script\n(.*?)^# ///$", re.MULTILINE | re.DOTALL)
PIXEL = base64.b64encode(
    bytes.fromhex(
        "89504e470d0a1a0a0000000d4948445200000001000000010802000000907753de0000000c49444154"
        "789c63f8cfc0000003010100c9fe92ef0000000049454e44ae426082"
    )
).decode()


@pytest.fixture(autouse=True)
def _offline(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A cache of its own for Snellen, and uv without a network."""
    monkeypatch.setenv("SNELLEN_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("UV_OFFLINE", "1")


def header_of(file: Path) -> dict[str, Any]:
    found = HEADER.search(file.read_text(encoding="utf-8"))
    assert found is not None, file
    return tomllib.loads(re.sub(r"^# ?", "", found.group(1), flags=re.MULTILINE))


def test_a_one_file_server_is_run_by_serve(tmp_path: Path) -> None:
    lines: list[str] = []
    results = evaluate(
        "ORG/NAME@abc", "eyechart", limit=3, out=tmp_path / "runs", html=False, serve=str(FILE), serving=lines.append
    )
    (run,) = results.runs
    assert lines[0] == "starting a server: one_file_server.py for ORG/NAME"
    output = next(iter(run.records())).passes[0].output
    assert isinstance(output, Generated)
    assert (output.text, output.usage and output.usage.completion_tokens) == ("A of ORG/NAME@abc, 1 pictures", 2)
    identity = run.info.config.identity
    assert (identity.provider, identity.name) == ("environment", "ORG/NAME")
    assert identity.facts["server"] == "one_file_server.py"
    assert identity.facts["server_code"] == server_environment(FILE).code_digest
    (served,) = run.info.served["model"]
    kept = run.path / "environment" / served.lock[:16]
    assert (kept / FILE.name).read_bytes() == FILE.read_bytes()
    assert (kept / f"{FILE.name}.lock").read_text(encoding="utf-8").startswith("version = 1")
    sections = {section.title: section.facts for section in fact_sections(run.report(), run.path)}
    assert dict(fact[:2] for fact in sections["Environment of the server"]) == {
        "lock digest": served.lock,
        "python": served.packages["python"],
    }
    assert not [one for one in psutil.Process().children() if "chat_server" in str(one.cmdline())]


@pytest.mark.attack(
    "a one-file server whose dependencies do not exist, or whose model does not load",
    "one sentence that says which step failed, with the end of the log; no process is left",
)
@pytest.mark.parametrize(
    ("model", "dependencies", "sentence"),
    [
        ("ORG/NAME", '["snellen-has-no-such-package==1"]', "uv finds no versions that fit"),
        ("ORG/broken", "[]", "cannot load its model"),
    ],
)
def test_a_server_that_does_not_start_says_which_step_failed(
    model: str, dependencies: str, sentence: str, tmp_path: Path
) -> None:
    text = FILE.read_text(encoding="utf-8")
    file = tmp_path / "mine.py"
    file.write_text(text.replace("dependencies = []", f"dependencies = {dependencies}"))
    with pytest.raises(ServerNotStarted, match=rf"the server mine.py for {model} .*{sentence}"):
        evaluate(model, "eyechart", limit=1, out=tmp_path / "runs", html=False, serve=str(file))
    assert not [one for one in psutil.Process().children() if "mine.py" in str(one.cmdline())]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (None, "No such file"),
        ("def load(:", "is not Python"),
        ("def load(checkpoint): ...", "expected its dependencies in a header"),
        (
            "# /// script\n# dependencies = []\n# ///\ndef load(checkpoint): ...",
            r"no function answer; expected load\(checkpoint\) and answer\(model, chat, settings\)",
        ),
    ],
)
def test_refuses_file_that_is_not_a_one_file_server(text: str | None, sentence: str, tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    if text is not None:
        file.write_text(text, encoding="utf-8")
    with pytest.raises(UsageError, match=sentence):
        evaluate("ORG/NAME", "eyechart", out=tmp_path, serve=str(file))


def test_without_uv_the_sentence_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    launch = server_environment(FILE).launch("", False, "ORG/NAME")
    assert any(word.endswith("uv") for word in build_command(launch, "ORG/NAME", 1))
    monkeypatch.setenv("PATH", "")
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    with pytest.raises(UsageError, match=r"no program 'uv' .* install it with: pip install uv"):
        build_command(launch, "ORG/NAME", 1)


def test_the_code_of_a_checkpoint_needs_consent(tmp_path: Path) -> None:
    servers = Servers(tmp_path)
    with pytest.raises(UsageError, match=r"internvl.py names: read it, then give -m environment/"):
        servers.open_managed("environment/OpenGVLab/InternVL2-8B")
    model = servers.open_managed("environment/InternVL2-8B:trust_remote_code=yes")
    assert model is not None
    assert model.identity.name == "OpenGVLab/InternVL2-8B"
    with pytest.raises(UsageError, match="no environment is known for NOBODY/knows"):
        servers.open_managed("environment/NOBODY/knows")


def test_every_shipped_file_has_a_recipe_and_answers_for_something() -> None:
    files = {file.stem for file in zoo_folder().glob("*.py")} - {"__init__"}
    assert files == environment_recipes().keys()
    ids = {entry.id for entry in catalog() if entry.provider == "hf"}
    used = {server.name for id in ids if (server := find_environment(id))}
    for name, recipe in environment_recipes().items():
        file = environment_file(name)
        assert check_environment_file(file) == file
        assert name in used, name
        header = header_of(file)
        assert header["requires-python"]
        requirements = [Requirement(one) for one in header["dependencies"]]
        # Libraries that change replies are pinned, and repositories by their commit.
        pinned = {one.name for one in requirements if "==" in str(one.specifier) or one.url}
        assert "transformers" in pinned, name
        assert "torch" in pinned, name
        for one in requirements:
            assert not one.url or re.search(r"@[0-9a-f]{40}(#subdirectory=.*)?$", one.url), one
        code = "trust_remote_code" in file.read_text(encoding="utf-8")
        assert recipe.own_code or not code, name
    routes = [route for entry in catalog() for route in routes_of(entry)]
    assert all(route.target in files for route in routes if route.kind == "environment")


def test_the_zoo_is_inside_of_an_installed_package(tmp_path: Path) -> None:
    package = tmp_path / "src" / "snellen"
    package.mkdir(parents=True)
    assert zoo_folder(package) == tmp_path / "zoo", "a checkout has it beside src"
    (package / "zoo").mkdir()
    assert zoo_folder(package) == package / "zoo"


def test_a_shipped_file_keeps_its_bytes() -> None:
    """Its digest is part of the identity of what it answers: another one, and stored replies are asked again. A file
    that is meant to answer otherwise gets its new digest in zoo_digests.json."""
    frozen = json.loads((Path(__file__).parent / "zoo_digests.json").read_text(encoding="utf-8"))
    files = (environment_file(name) for name in environment_recipes())
    assert {file.stem: hashlib.sha256(file.read_bytes()).hexdigest() for file in files} == frozen


def test_the_wheel_and_the_source_distribution_hold_the_zoo() -> None:
    targets = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["hatch"]["build"]
    wheel = targets["targets"]["wheel"]
    assert "zoo" in wheel["only-include"]
    assert wheel["sources"]["zoo"] == "snellen/zoo"
    assert "/zoo" in targets["targets"]["sdist"]["include"]
    assert targets["dev-mode-dirs"] == ["src"]


def test_a_folder_is_recognised_by_its_configuration(tmp_path: Path) -> None:
    declared = {"architectures": ["IdeficsForVisionText2Text"], "model_type": "idefics"}
    (tmp_path / "config.json").write_text(json.dumps(declared), encoding="utf-8")
    server = find_environment(str(tmp_path))
    assert server is not None
    assert server.name == "idefics"


def test_other_versions_are_a_difference() -> None:
    first = ServedIdentity(packages={"python": "3.11.7", "timm": "0.9.16", "torch": "2.13.0"})
    second = ServedIdentity(packages={"python": "3.11.7", "timm": "1.0.3"})
    assert list(identity_differences(first, second)) == [
        "packages of its environment: timm 0.9.16, then 1.0.3, torch 2.13.0, then absent"
    ]
    assert not list(identity_differences(first, ServedIdentity(models={"x": 1})))


# --- the server of each environment


class OneFile:
    """What a one-file server defines."""

    def load(self, checkpoint: chat_server.ServedCheckpoint) -> str:
        return checkpoint.name

    def answer(self, model: str, chat: ChatMessages, settings: ReplySettings) -> object:
        if "nothing" in chat.question():
            return None
        return f"{chat.question()} STOP {chat.images[0].size if chat.images else ''}"


@pytest.fixture
def server() -> Iterator[ChatServer]:
    running = ChatServer(0, "m")
    threading.Thread(target=running.serve_forever, daemon=True).start()
    yield running
    running.shutdown()
    running.server_close()


def ask(server: ChatServer, body: object, path: str = "/v1/chat/completions") -> tuple[int, Any]:
    url = f"http://127.0.0.1:{server.server_port}{path}"
    data = None if body is None else json.dumps(body).encode()
    try:
        with urllib.request.urlopen(urllib.request.Request(url, data)) as reply:
            return reply.status, json.loads(reply.read())
    except urllib.error.HTTPError as error:
        with error:
            return error.code, json.loads(error.read())


def message(*parts: object) -> dict[str, Any]:
    return {"model": "m", "messages": [{"role": "user", "content": list(parts)}], "stop": "STOP"}


TEXT = {"type": "text", "text": "What?"}


@pytest.mark.attack(
    "requests to a one-file server that are broken, too early, or for what it has not",
    "a status and one sentence; the next request is answered",
)
def test_a_broken_request_is_its_own_error(server: ChatServer) -> None:
    assert ask(server, message(TEXT)) == (
        503,
        {"error": {"message": "the model is being loaded", "type": "invalid_request_error"}},
    )
    server.open_model(OneFile(), chat_server.ServedCheckpoint("m", "", "", False))  # type: ignore[arg-type]
    picture = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PIXEL}"}}
    status, reply = ask(server, message(picture, TEXT))
    assert status == 200
    assert reply["choices"][0]["message"]["content"] == "<image>\nWhat? "
    assert reply["choices"][0]["finish_reason"] == "stop"
    remote = {"type": "image_url", "image_url": {"url": "http://example.org/a.png"}}
    broken = {"type": "image_url", "image_url": {"url": "data:image/png;base64,QUJD"}}
    for body, expected, sentence in (
        ({**message(TEXT), "model": "another"}, 404, "there is no model 'another'"),
        (message(remote), 422, "fetches nothing"),
        (message(broken), 422, "not a picture that Pillow reads"),
        (message({"type": "video_url"}), 422, "takes text and pictures"),
        (message({"type": "text", "text": "an <image>"}), 422, "'<image>', which the model res"),
        ({"model": "m", "messages": []}, 422, "at least one message"),
        ({**message(TEXT), "stream": True}, 422, "neither streams"),
        (message({"type": "text", "text": "nothing"}), 422, "answer returned NoneType"),
        ("x", 422, "AttributeError"),
    ):
        status, reply = ask(server, body)
        assert (status, sentence in reply["error"]["message"]) == (expected, True), reply
    assert ask(server, None, "/v1/models")[1]["data"][0]["id"] == "m"
    assert ask(server, None, "/environment")[1]["packages"]["pytest"] == pytest.__version__
    assert ask(server, None, "/other")[0] == 404


def test_settings_become_the_arguments_of_generate() -> None:
    assert ReplySettings(max_tokens=9).generation() == {"max_new_tokens": 9, "do_sample": False}
    drawn = ReplySettings(max_tokens=9, temperature=0.5, top_p=0.9, repetition_penalty=1.1)
    assert drawn.generation("max_length") == {
        "max_length": 9,
        "do_sample": True,
        "temperature": 0.5,
        "top_p": 0.9,
        "repetition_penalty": 1.1,
    }


def test_turns_hold_marks_and_the_system_text() -> None:
    picture = {"type": "image", "image": None}
    chat = ChatMessages(
        [
            {"role": "system", "content": [{"type": "text", "text": "Be brief."}]},
            {"role": "user", "content": [picture, picture, TEXT]},
            {"role": "assistant", "content": [{"type": "text", "text": "A"}]},
            {"role": "user", "content": [TEXT]},
        ]
    )
    assert chat.turns("[{n}]") == [("user", "Be brief.\n[1][2]What?"), ("assistant", "A"), ("user", "What?")]
    with pytest.raises(ValueError, match="one question at a time; got 3 turns"):
        chat.question()
    with pytest.raises(ValueError, match="one picture; got 2"):
        chat.only_image()


@pytest.mark.attack("the port of a one-file server is taken", "it ends at once, before anything is loaded, and says so")
def test_a_port_that_is_taken_ends_the_server_at_once() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        ended = subprocess.run(
            [sys.executable, "-I", chat_server.__file__, str(FILE), f"--port={port}"],
            capture_output=True,
            text=True,
            timeout=60,
        )
    assert ended.returncode == chat_server.PORT_TAKEN
    assert f"port {port} cannot be listened on" in ended.stderr


@pytest.mark.parametrize("size", [(448, 448), (1000, 300), (301, 902), (50, 60), (1300, 1299)])
@pytest.mark.parametrize("images", [1, 5])
def test_tiles_are_those_of_the_adapter(size: tuple[int, int], images: int) -> None:
    """The one-file server for InternVL cuts pictures as its adapter in this process does."""
    one_file = chat_server.import_file(environment_file("internvl"))
    config = SimpleNamespace(
        force_image_size=28,
        min_dynamic_patch=1,
        max_dynamic_patch=12,
        dynamic_image_size=True,
        use_thumbnail=True,
        vision_config=SimpleNamespace(image_size=28),
    )
    picture = Image.effect_noise(size, 90).convert("RGB")
    settings = TileSettings.of_config(config, {})
    ours = tile_images([picture] * images, settings, torch.float32, "cpu")
    tiles = one_file.cut_tiles(picture, config, images).to(torch.float32)
    assert len(tiles) == ours.counts[0]
    torch.testing.assert_close(tiles, ours.pixels[: len(tiles)])


# --- an old version of transformers


def small_internvl(folder: Path) -> None:
    """A small InternVL2 as its time wrote it: with InternLM2 in its name, and a tokenizer that
    tokenizers 0.15 reads."""
    folder.mkdir()
    BUILDERS["internvl_chat"](folder)
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    config["llm_config"] |= {"architectures": ["InternLM2ForCausalLM"], "bos_token_id": 1}
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
    words = json.loads((folder / "tokenizer.json").read_text(encoding="utf-8"))
    merges = words["model"]["merges"]
    words["model"]["merges"] = [" ".join(pair) for pair in merges]
    (folder / "tokenizer.json").write_text(json.dumps(words), encoding="utf-8")
    declared = json.loads((folder / "tokenizer_config.json").read_text(encoding="utf-8"))
    declared["tokenizer_class"] = "PreTrainedTokenizerFast"
    declared["additional_special_tokens"] = declared.pop("extra_special_tokens")
    (folder / "tokenizer_config.json").write_text(json.dumps(declared), encoding="utf-8")


@pytest.mark.release
def test_own_code_of_an_older_transformers_is_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A small InternVL2 by its own `chat`, in the environment of `internvl.py` (4.37.2)."""
    monkeypatch.delenv("UV_OFFLINE")
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    folder = tmp_path / "internvl-small"
    small_internvl(folder)
    spec = f"environment/{folder}:trust_remote_code=yes,max_new_tokens=8"
    try:
        results = evaluate(spec, "eyechart", limit=1, out=tmp_path / "runs", html=False)
    except ServerNotStarted as error:
        if "has no environment" not in str(error):
            raise
        pytest.skip("uv cannot fetch the packages of internvl.py")
    (run,) = results.runs
    assert run.info.served["model"][0].packages["transformers"] == "4.37.2"
    record = next(iter(run.records()))
    output = record.passes[0].output
    assert isinstance(output, Generated)
    assert output.text


@pytest.mark.release
def test_a_model_of_an_older_transformers_is_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A small IDEFICS, made and asked in the environment of `idefics.py` (transformers 4.46)."""
    monkeypatch.delenv("UV_OFFLINE")
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    uv = shutil.which("uv") or shutil.which("uv", path=str(Path(sys.executable).parent))
    assert uv is not None
    build = Path(__file__).with_name("build_idefics.py")
    folder = tmp_path / "idefics-small"
    inside = [uv, "run", "--no-project", "--with-requirements", environment_file("idefics"), build]
    made = subprocess.run([*inside, folder], capture_output=True, text=True, timeout=550)
    if "No solution found" in made.stderr or "Failed to fetch" in made.stderr:
        pytest.skip("uv cannot fetch the packages of idefics.py")
    assert made.returncode == 0, made.stderr
    table = tmp_path / "hue.tsv"
    text = f"index\timage\tquestion\tanswer\n1\t{PIXEL}\tWhich hue?\tred\n"
    table.write_text(text, encoding="utf-8")
    picture = tmp_path / "hue.png"
    picture.write_bytes(base64.b64decode(PIXEL))
    out = tmp_path / "runs"
    spec = f"environment/{folder}:max_new_tokens=8"
    assert main(["run", "-m", spec, "-b", str(table), "--out", str(out), "--no-html"]) == 0
    run = json.loads(next(out.glob("*/run.json")).read_text(encoding="utf-8"))
    assert run["served"]["model"][0]["packages"]["transformers"] == "4.46.3"
    sample = json.loads(next(out.glob("*/samples.jsonl")).read_text(encoding="utf-8"))
    (asked,) = sample["passes"]
    _, question = asked["prompt"][0]["parts"]
    by_hand = subprocess.run(
        [*inside, folder, picture, question["text"]], capture_output=True, text=True, timeout=300, check=True
    )
    reply = ast.literal_eval(by_hand.stdout.strip().removeprefix("reply: "))
    assert len(reply) == 8
    assert asked["output"]["text"] == reply.strip()
    assert asked["output"]["usage"]["completion_tokens"] == 8
    capsys.readouterr()


def test_a_plan_says_that_uv_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    name = "environment/HuggingFaceM4/idefics-9b-instruct"
    assert not plan(name, "eyechart", limit=5, out=tmp_path).missing
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    (missing,) = plan(name, "eyechart", limit=5, out=tmp_path).missing
    assert missing.what == "extra"
    assert "no program 'uv' to start a server with; install it with: pip install uv" in (missing.sentence)
