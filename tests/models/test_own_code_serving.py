"""Checkpoints' own code behind one-file servers, in environments with the transformers it needs."""

from __future__ import annotations

import ast
import base64
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import msgspec
import pytest
import typing_extensions
from own_code_checkpoints import BUILDERS, open_adapter
from packaging.requirements import Requirement
from packaging.version import Version
from questions_for_models import ask, noise

from snellen.core.output import Generated
from snellen.core.request import Generation
from snellen.engine.servers.managed import Servers
from snellen.models.environments.chat_server import ReplySettings, ServedCheckpoint, import_file, read_chat
from snellen.models.hf.own_code.adapter import adapter_names, code_adapters
from snellen.models.hf.routing import NoRoute
from snellen.models.naming.environments import environment_file, environment_recipes
from snellen.models.naming.registry import open_model
from snellen.models.naming.routes import checkpoint_routes, find_environment, layouts

FILES = [name for name, recipe in environment_recipes().items() if recipe.adapters]
HEADER = re.compile(r"^# /// script\n(.*?)^# ///$", re.MULTILINE | re.DOTALL)
ONE, WIDE = noise(1), noise(2, 120, 40)


def installed_by(name: str) -> dict[str, Requirement]:
    """What the environment of a one-file server has, by the name of the package."""
    header = HEADER.search(environment_file(name).read_text(encoding="utf-8"))
    assert header is not None
    fields = tomllib.loads(re.sub(r"^# ?", "", header.group(1), flags=re.MULTILINE))
    assert fields["requires-python"].startswith(">=3.11"), "Snellen's modules need Python 3.11"
    requirements = [Requirement(text) for text in fields["dependencies"]]
    return {each.name.replace("-", "_"): each for each in requirements}


@pytest.mark.parametrize("name", FILES)
def test_the_environment_has_what_the_code_of_its_layouts_needs(name: str) -> None:
    recipe, packages = environment_recipes()[name], installed_by(name)
    (version,) = [each.version for each in packages["transformers"].specifier]
    assert recipe.installs == f"transformers {version}"
    for layout in recipe.layouts:
        assert layout in adapter_names(), layout
        below, needs = layouts()[layout].below, layouts()[layout].requires
        assert not below or Version(version) < Version(below), layout
        assert set(needs) <= packages.keys(), layout
    assert "msgspec" in packages
    assert recipe.own_code, "it runs the checkpoint's code"


def message(text: str, *pictures: bytes) -> dict[str, Any]:
    """A request's body: a question with the pictures in front of it."""
    urls = [f"data:image/png;base64,{base64.b64encode(data).decode()}" for data in pictures]
    images = [{"type": "image_url", "image_url": {"url": url}} for url in urls]
    return {"messages": [{"role": "user", "content": [*images, {"type": "text", "text": text}]}]}


@pytest.mark.parametrize("adapter", ["ovis", "kimi_vl", "molmo"])
def test_replies_are_those_of_the_adapter_in_snellens_own_process(adapter: str, tmp_path: Path) -> None:
    folder = BUILDERS[adapter](tmp_path)
    module = import_file(environment_file("own_code_4_48"))
    model = module.load(ServedCheckpoint(folder.name, str(folder), "", own_code=True))
    settings = ReplySettings(max_tokens=6)
    questions = [("What is it?", ONE), ("And this?", WIDE), ("Hello",)]
    ours = [module.answer(model, read_chat(message(*each)), settings) for each in questions]
    here = open_adapter(adapter, folder).answer_batch(
        [ask(*each, settings=Generation(max_new_tokens=6)) for each in questions]
    )
    assert len({reply["text"] for reply in ours}) == 3
    for reply, output in zip(ours, here, strict=True):
        assert isinstance(output, Generated)
        assert output.usage is not None
        assert reply["text"] == output.text
        assert reply["completion_tokens"] == output.usage.completion_tokens


def test_unsupported_checkpoints_raise_value_errors(tmp_path: Path) -> None:
    folder = BUILDERS["kimi_vl"](tmp_path)
    module = import_file(environment_file("own_code_4_48"))
    with pytest.raises(ValueError, match=r"runs its own code: give trust_remote_code=yes"):
        module.load(ServedCheckpoint("ORG/NAME", str(folder), "", own_code=False))
    model = module.load(ServedCheckpoint("ORG/NAME", str(folder), "", own_code=True))
    with pytest.raises(ValueError, match=r"contains <\|media_pad\|>, a mark"):
        module.answer(model, read_chat(message("A <|media_pad|>?")), ReplySettings())
    (folder / "config.json").write_text('{"architectures": ["Another"]}', encoding="utf-8")
    with pytest.raises(ValueError, match="no adapter asks the layout unknown of ORG/NAME"):
        module.load(ServedCheckpoint("ORG/NAME", str(folder), "", own_code=True))


def test_code_that_does_not_run_fails_when_it_is_loaded(tmp_path: Path) -> None:
    (tmp_path / "kimi_vl").mkdir()
    folder = tmp_path / "of_another_version"
    shutil.copytree(BUILDERS["kimi_vl"](tmp_path / "kimi_vl"), folder)
    code = folder / "modeling_kimi_vl.py"
    text = code.read_text(encoding="utf-8")
    code.write_text(text.replace("= self.vision_tower(", "= self.vision_power("), encoding="utf-8")
    module = import_file(environment_file("own_code_4_48"))
    with pytest.raises(AttributeError, match="vision_power"):
        module.load(ServedCheckpoint("ORG/NAME", str(folder), "", own_code=True))


def test_an_environment_without_snellen_needs_msgspec_alone(tmp_path: Path) -> None:
    for package in (msgspec, typing_extensions):
        file = Path(str(package.__file__))
        source = file.parent if file.name == "__init__.py" else file
        (tmp_path / source.name).symlink_to(source)
    server = Path(sys.modules[ServedCheckpoint.__module__].__file__ or "")
    code = (
        "import importlib.util, sys\n"
        f"sys.path.append({str(tmp_path)!r})\n"
        f"spec = importlib.util.spec_from_file_location('chat_server', {str(server)!r})\n"
        "server = importlib.util.module_from_spec(spec)\n"
        "sys.modules['chat_server'] = server\n"
        "spec.loader.exec_module(server)\n"
        "checkpoint = server.ServedCheckpoint('', '', '', True)\n"
        "print(checkpoint.import_snellen('models.hf.own_code.serving').__file__)\n"
        "calls = checkpoint.import_snellen('models.hf.own_code.calls')\n"
        "print({name.partition('.')[0] for name in sys.modules} & "
        "{'snellen', 'numpy', 'torch', 'transformers', 'PIL'})\n"
    )
    shown = subprocess.run(
        [sys.executable, "-I", "-S", "-c", code], capture_output=True, text=True, check=True
    ).stdout.splitlines()
    assert shown[0] == str(server.parents[1] / "hf" / "own_code" / "serving.py")
    assert ast.literal_eval(shown[1]) == {"snellen"}


def test_the_adapter_is_part_of_the_identity_of_a_model_in_an_environment(tmp_path: Path) -> None:
    with Servers(tmp_path) as servers:
        ovis = servers.open_managed("environment/AIDC-AI/Ovis2-34B:trust_remote_code=yes")
        fuyu = servers.open_managed("environment/adept/fuyu-8b")
        molmo = servers.open_managed("environment/allenai/Molmo-72B-0924:trust_remote_code=yes")
        assert ovis is not None
        assert fuyu is not None
        assert molmo is not None
        assert not servers.running
    assert ovis.identity.facts["asked_by"] == f"ovis {code_adapters()['ovis'].digest}"
    assert "asked_by" not in fuyu.identity.facts
    assert (ovis.capabilities.many_images, molmo.capabilities.many_images) == (True, False)


@pytest.mark.parametrize(
    ("id", "file", "one_image"),
    [
        ("AIDC-AI/Ovis1.5-Llama3-8B", "own_code_4_44", False),
        ("AIDC-AI/Ovis-U1-3B", "own_code_4_51", False),
        ("lmms-lab/LLaVA-OneVision-1.5-8B-Instruct", "own_code_4_55", False),
        ("moonshotai/Kimi-VL-A3B-Thinking", "own_code_4_48", False),
        ("allenai/Molmo-7B-D-0924", "own_code_4_51", True),
        ("adept/fuyu-8b", "fuyu", True),
    ],
)
def test_names_lead_to_the_environment_with_their_transformers(id: str, file: str, one_image: bool) -> None:
    routes = checkpoint_routes(id)
    assert file in [route.target for route in routes if route.kind == "environment"]
    server = find_environment(id)
    assert server is not None
    assert (server.name, server.one_image) == (file, one_image)
    assert routes[0].kind in ("server", "environment")


def test_code_for_an_older_transformers_names_the_environment_that_has_it() -> None:
    consent = {"trust_remote_code": "yes"}
    with pytest.raises(NoRoute) as caught:
        open_model("hf/AIDC-AI/Ovis1.5-Llama3-8B", consent)
    assert str(caught.value).endswith(
        "take another way: -m environment/AIDC-AI/Ovis1.5-Llama3-8B:trust_remote_code=yes (a "
        "one-file server with an environment of its own: uv installs transformers 4.44.2)"
    )
    with pytest.raises(NoRoute, match=r"run it in an environment of its own$"):
        open_model("hf/bytedance-research/Valley2-DPO", consent)
