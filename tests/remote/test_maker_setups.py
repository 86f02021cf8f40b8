"""A maker's set-up and a pinned revision reach the model by whatever route it is asked."""

from __future__ import annotations

import base64
import io
import json
import os
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest
from PIL import Image
from standin_server import StandIn

from snellen import Run, evaluate
from snellen.cli import main
from snellen.core.errors import UsageError
from snellen.core.request import Sampling
from snellen.models.hf.bundled import WEIGHTS
from snellen.models.naming.registry import describe_model, split_spec

STAND_IN = Path(__file__).parents[1] / "engine" / "stand_in_vllm.py"
SAMPLED = {"temperature": 0.7, "top_p": 0.8, "top_k": 20, "presence_penalty": 1.5}
TOOLKIT = "Please select the correct answer from the options above. \n"
COMMIT = "0123456789abcdef0123456789abcdef01234567"


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """One question of MMStar's kind."""
    buffer = io.BytesIO()
    Image.new("RGB", (8, 8), "red").save(buffer, "PNG")
    picture = base64.b64encode(buffer.getvalue()).decode()
    cells = {"index": "1", "image": picture, "question": "Which?", "A": "red", "B": "blue"}
    cells |= {"answer": "A", "category": "x", "l2_category": "y"}
    path = tmp_path / "q.tsv"
    path.write_text("\t".join(cells) + "\n" + "\t".join(cells.values()) + "\n")
    return path


def ask(model: str, table: Path, **options: Any) -> Run:
    from snellen.core.benchmark import Variant

    out = table.parent / "out"
    variant = Variant(data=str(table))
    (run,) = evaluate(model, "mmstar", out=out, variant=variant, html=False, **options).runs
    return run


def question_of(server: StandIn) -> dict[str, Any]:
    """The body of the one question; the check before it asks for another reply."""
    return server.asked[-1]


def sampling_in(body: dict[str, Any]) -> dict[str, float]:
    return {name: body[name] for name in (*SAMPLED, "repetition_penalty") if name in body}


@pytest.mark.parametrize("served", ["Qwen/Qwen3-VL-8B-Instruct", "Qwen3-VL-8B-Instruct"])
def test_a_server_by_its_url_is_asked_as_the_makers_ask(server: StandIn, table: Path, served: str) -> None:
    server.models = [served]
    run = ask(f"{server.url}#{served}", table)
    body = question_of(server)
    assert sampling_in(body) == SAMPLED
    assert body["max_tokens"] == 32768
    assert body["messages"][-1]["content"][-1]["text"].endswith(TOOLKIT)
    config = run.info.config
    assert config.parameters["recipe"] == "qwen3-vl-instruct"
    assert config.sampling["model"] == Sampling(temperature=0.7, top_p=0.8, top_k=20, presence_penalty=1.5)


def test_the_plain_set_up_asks_as_the_benchmark_says(server: StandIn, table: Path) -> None:
    server.models = ["Qwen/Qwen3-VL-8B-Instruct"]
    run = ask(f"{server.url}#Qwen/Qwen3-VL-8B-Instruct", table, setup="plain")
    assert sampling_in(question_of(server)) == {"temperature": 0.0}
    assert "recipe" not in run.info.config.parameters
    assert not run.info.config.sampling


def test_user_settings_override_recipes(server: StandIn, table: Path) -> None:
    server.models = ["Qwen/Qwen3-VL-8B-Instruct"]
    ask(f"{server.url}#Qwen/Qwen3-VL-8B-Instruct:temperature=0", table)
    assert sampling_in(question_of(server)) == {"temperature": 0.0, "presence_penalty": 1.5}


def test_pixels_reach_vllm_and_are_part_of_the_identity(server: StandIn, table: Path) -> None:
    server.models = ["Qwen/Qwen2.5-VL-7B-Instruct"]
    name = f"vllm/Qwen/Qwen2.5-VL-7B-Instruct:base_url={server.url}"
    run = ask(name, table)
    limits = {"min_pixels": 1280 * 28 * 28, "max_pixels": 16384 * 28 * 28}
    assert question_of(server)["mm_processor_kwargs"] == limits
    assert run.info.model == name
    facts = run.info.config.identity.facts
    assert facts["body.mm_processor_kwargs.max_pixels"] == str(limits["max_pixels"])


def test_an_api_gets_what_it_takes(server: StandIn, table: Path, monkeypatch) -> None:
    """OpenAI's API takes no top_k: the rest of the set-up is sent."""
    monkeypatch.setenv("OPENAI_API_KEY", "key-for-nothing-at-all")
    server.models = ["Qwen/Qwen3-VL-8B-Instruct"]
    run = ask(f"openai/Qwen/Qwen3-VL-8B-Instruct:base_url={server.url}", table)
    wanted = {name: value for name, value in SAMPLED.items() if name != "top_k"}
    assert sampling_in(question_of(server)) == wanted
    assert run.info.config.sampling["model"].top_k is None


def test_a_model_by_its_name_at_an_api(server: StandIn, table: Path, monkeypatch) -> None:
    monkeypatch.setenv("MOONSHOT_API_KEY", "key-for-nothing-at-all")
    server.models = ["kimi-k2.5-preview"]
    run = ask(f"moonshot/kimi-k2.5-preview:base_url={server.url},sampling=no", table)
    assert question_of(server)["max_tokens"] == 32768
    assert sampling_in(question_of(server)) == {}
    assert run.info.config.parameters["recipe"] == "kimi-k2.5"
    assert not run.info.config.sampling


@pytest.mark.parametrize(
    ("model", "expected"),
    [
        ("hf/org/thinker", ":max_pixels=1024,thinking=off"),
        ("hf/org/thinker:max_pixels=64", ",thinking=off"),
        (
            "vllm/org/thinker",
            ":body.mm_processor_kwargs.max_pixels=1024,body.chat_template_kwargs.enable_thinking=false",
        ),
        ("sglang/org/thinker", ":body.chat_template_kwargs.enable_thinking=false"),
        ("http://localhost:1/v1#org/thinker", ""),
        ("hf/org/other", ""),
    ],
)
def test_options_of_a_set_up_in_the_words_of_each_route(model: str, expected: str, monkeypatch) -> None:
    from snellen.api._maker_setup import add_maker_options
    from snellen.prompts import recipes

    own = recipes.MakerSetup(name="own", models=("org/thinker",), basis="maker", max_pixels=1024, thinking="off")
    monkeypatch.setattr(recipes, "load_setups", lambda: (own,))
    made = add_maker_options(model)
    assert made.spec == model + expected
    assert made.name_without(made.spec) == model


@pytest.mark.parametrize(
    ("name", "provider", "model", "revision"),
    [
        ("hf/org/name@v1.0", "hf", "org/name", "v1.0"),
        ("vllm/org/name@refs/pr/1", "vllm", "org/name", "refs/pr/1"),
        ("http://localhost:1/v1#org/name@abc", "http", "http://localhost:1/v1#org/name", "abc"),
        ("InternVL2-8B@abc", "hf", "OpenGVLab/InternVL2-8B", "abc"),
        ("vllm/InternVL2-8B@abc", "vllm", "OpenGVLab/InternVL2-8B", "abc"),
        ("hf/org/name@abc:dtype=float32", "hf", "org/name", "abc"),
        ("anthropic/claude-x@20240229", "anthropic", "claude-x@20240229", None),
    ],
)
def test_a_revision_is_part_of_a_name(name: str, provider: str, model: str, revision: str | None) -> None:
    parts = split_spec(name)
    assert parts[:2] == (provider, model)
    assert parts.options.get("revision") == revision


def test_a_revision_behind_a_server_is_recorded(server: StandIn, table: Path) -> None:
    server.models = ["org/name"]
    run = ask(f"{server.url}#org/name@{COMMIT}", table)
    assert question_of(server)["model"] == "org/name"
    assert run.info.config.identity.facts["revision"] == COMMIT
    assert run.info.model == f"org/name:revision={COMMIT}"


def test_an_api_has_no_revisions(monkeypatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "key-for-nothing-at-all")
    with pytest.raises(UsageError, match="dates in their names instead of commits"):
        describe_model("openai/gpt-4o:revision=abc")


@pytest.fixture
def vllm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of notes of a program `vllm` that behaves like vLLM's server."""
    notes, programs = tmp_path / "notes", tmp_path / "programs"
    notes.mkdir()
    programs.mkdir()
    program = programs / "vllm"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{STAND_IN}" "$@"\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("STAND_IN_NOTES", str(notes))
    return notes


def arguments_in(notes: Path) -> list[str]:
    (note,) = [json.loads(file.read_text()) for file in notes.glob("*.json")]
    arguments: list[str] = note["arguments"]
    return arguments


def test_a_server_that_is_started_loads_the_revision(vllm: Path, table: Path) -> None:
    run = ask(f"vllm/InternVL2-8B@{COMMIT}", table)
    arguments = arguments_in(vllm)
    assert arguments[:2] == ["serve", "OpenGVLab/InternVL2-8B"]
    assert arguments[-2:] == ["--revision", COMMIT]
    assert run.info.config.identity.facts["revision"] == COMMIT
    assert run.info.config.parameters["recipe"] == "internvl"


def test_own_command_gets_the_revision(vllm: Path, table: Path) -> None:
    serve = "vllm serve {model} --port {port} --revision {revision}"
    run = ask(f"hf/OpenGVLab/InternVL2-8B@{COMMIT}", table, serve=serve)
    assert arguments_in(vllm)[-2:] == ["--revision", COMMIT]
    assert run.info.config.identity.facts["revision"] == COMMIT
    assert run.info.config.parameters["recipe"] == "internvl"


def test_a_command_that_cannot_load_the_revision_is_refused(vllm: Path, table: Path) -> None:
    with pytest.raises(UsageError, match=r"put it where the command takes it"):
        ask(f"hf/org/name@{COMMIT}", table, serve="vllm serve {model} --port {port}")
    assert not list(vllm.iterdir())


def test_catalog_name_is_served_by_an_own_command(vllm: Path, table: Path) -> None:
    """Its pinned commit does not reach this server, so the run does not claim it."""
    run = ask("Qwen2-VL-7B-Instruct", table, serve="vllm serve {model} --port {port}")
    assert arguments_in(vllm)[1] == "Qwen/Qwen2-VL-7B-Instruct"
    assert "revision" not in run.info.config.identity.facts
    assert run.info.config.parameters["recipe"] == "qwen2-vl"


@pytest.mark.release
def test_transformers_serve_loads_the_revision_and_is_asked_by_the_recipe(
    tmp_path: Path, table: Path, monkeypatch: pytest.MonkeyPatch, capsys
) -> None:
    """A real server; the bundled weights stand on the hub's shelf under another name."""
    hub = tmp_path / "hub" / "models--Qwen--Qwen2-VL-2B-Instruct"
    shutil.copytree(WEIGHTS / "tiny", hub / "snapshots" / COMMIT)
    (hub / "blobs").mkdir()
    (hub / "refs").mkdir()
    monkeypatch.setenv("HF_HUB_CACHE", str(hub.parent))
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    name = f"transformers/Qwen/Qwen2-VL-2B-Instruct@{COMMIT}"
    command = ["run", "-m", name, "-b", "mmstar", "--data", str(table), "--no-html", "--out"]
    assert main([*command, str(tmp_path / "real")]) == 0
    (file,) = (tmp_path / "real").glob("*/run.json")
    config = json.loads(file.read_text())["config"]
    assert config["identity"]["facts"]["revision"] == COMMIT
    assert config["parameters"]["recipe"] == "qwen2-vl"
    assert config["max_new_tokens"] == 2048
