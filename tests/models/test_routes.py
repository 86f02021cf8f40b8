"""Every name of the catalog leads somewhere, and each claim is that of a list stored here."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest
import transformers
from own_code_by_call import BUILDERS
from transformers.models.auto import modeling_auto

from snellen.cli.main import main
from snellen.core.errors import UsageError
from snellen.engine.servers import nearest_route as nearest
from snellen.models.hf.own_code.adapter import code_adapters
from snellen.models.hf.routing import NoRoute, destination
from snellen.models.naming.catalog import catalog, sources
from snellen.models.naming.environments import environment_recipes
from snellen.models.naming.filters import choose
from snellen.models.naming.registry import open_model
from snellen.models.naming.routes import (
    SERVERS,
    checkpoint_routes,
    config_type,
    families,
    find_family,
    layouts,
    model_lists,
    route_sources,
    routes_of,
)
from snellen.models.remote.evidence import provider_level

PARTS = '{"weight_map": {"a": "1.safetensors", "b": "2.safetensors"}}'
PICTURES = '{"image_processor_type": "OfAUserImageProcessor"}'
CHECKPOINTS = [entry.id for entry in catalog() if entry.provider == "hf"]
TRIED_FAMILIES = Path(__file__).parents[2] / "docs" / "data" / "families.json"


def first_routes() -> Counter[str]:
    return Counter(routes_of(entry)[0].kind for entry in catalog())


def test_every_name_has_a_route_or_a_reason() -> None:
    for entry in catalog():
        routes = routes_of(entry)
        assert routes, entry.name
        for route in routes:
            assert route.source in {**sources(), **route_sources()}, entry.name
            assert bool(route.target) != (route.kind == "none"), entry.name
            assert route.kind != "none" or len(route.note) > 20, entry.name
    assert sum(first_routes().values()) == len(catalog())


def test_most_names_can_be_asked() -> None:
    counts = first_routes()
    assert counts["none"] <= 53
    assert counts["transformers"] + counts["twin"] >= 230
    assert counts["code"] + counts["server"] >= 120
    assert counts["environment"] >= 55


def test_every_family_is_used_and_every_layout_is_one_of_a_family() -> None:
    used = [find_family(id) for id in CHECKPOINTS]
    assert {family.name for family in used if family} == {family.name for family in families()}
    assert {family.type for family in families()} >= layouts().keys()
    adapted = {layout for adapter in code_adapters().values() for layout in adapter.layouts}
    assert adapted <= layouts().keys()


def test_every_source_says_where_and_when_and_is_used() -> None:
    used = {family.source for family in families()} | {layout.source for layout in layouts().values()}
    used |= {recipe.source for recipe in environment_recipes().values()}
    used |= {family.twin_source for family in families()} | {*SERVERS, "diffusers"}
    assert used - {""} == route_sources().keys()
    for name in route_sources().keys() & sources().keys():
        assert route_sources()[name].url == sources()[name].url, name


def test_claims_about_transformers_are_those_of_the_installed_version() -> None:
    lists = model_lists()
    pictures = {
        **modeling_auto.MODEL_FOR_MULTIMODAL_LM_MAPPING_NAMES,
        **modeling_auto.MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING_NAMES,
    }
    if transformers.__version__ == lists.version:
        assert set(lists.pictures) == set(pictures)
        for type, name in lists.pictures.items():
            classes = pictures[type]
            assert name == (classes if isinstance(classes, str) else classes[0]), type
    named = {family.type for family in families()} | {family.twin_type for family in families()}
    for type in named & lists.pictures.keys():
        assert type in pictures, f"transformers {transformers.__version__} does not load {type}"
    for type in named & lists.text.keys():
        assert type in modeling_auto.MODEL_FOR_CAUSAL_LM_MAPPING_NAMES, type


def test_layouts_with_own_code_are_not_those_of_transformers() -> None:
    lists = model_lists()
    assert not layouts().keys() & (lists.pictures.keys() | lists.text.keys())
    native = {*lists.pictures.values(), *lists.text.values()}
    # InternLM2's code keeps a name that no class of transformers has; none may have one.
    assert not native & {layout.architecture for layout in layouts().values()}


def test_small_models_tried_match_the_page_of_families() -> None:
    tried = json.loads(TRIED_FAMILIES.read_text(encoding="utf-8"))
    assert model_lists().asked_small == {entry["model_type"] for entry in tried.values()}
    for entry in catalog():
        for route in routes_of(entry):
            if route.kind == "code" and route.tried == "small model":
                assert route.target in BUILDERS


def test_checkpoints_that_vllm_names_have_the_architecture_it_says() -> None:
    listed = json.loads(Path(__file__).with_name("vllm_supported.json").read_text(encoding="utf-8"))
    lists = model_lists()
    compared = 0
    for architecture, ids in listed.items():
        assert architecture in lists.servers["vllm"], architecture
        for id in ids:
            family = find_family(id)
            if family is None:
                continue
            layout = layouts().get(family.type)
            ours = layout.architecture if layout else None
            ours = ours or lists.pictures.get(family.type) or lists.text.get(family.type)
            same = {architecture, *SAME.get(architecture, ())}
            same = {name.replace("_", "") for name in same}
            assert str(ours).replace("_", "") in same, f"{id}: {ours}, vLLM: {architecture}"
            compared += 1
    assert compared >= 90


SAME = {
    "GLM4VForCausalLM": ("ChatGLMForConditionalGeneration",),
    "HCXVisionV2ForCausalLM": ("HyperCLOVAXVisionV2ForConditionalGeneration",),
    "Qwen2_5OmniThinkerForConditionalGeneration": ("Qwen2_5OmniForConditionalGeneration",),
    "Qwen3OmniMoeThinkerForConditionalGeneration": ("Qwen3OmniMoeForConditionalGeneration",),
    "PixtralForConditionalGeneration": ("Mistral3ForConditionalGeneration", "MistralLarge3ForCausalLM"),
    "InternLM3ForCausalLM": ("LlamaForCausalLM",),
    "MistralForCausalLM": ("Mistral3ForConditionalGeneration",),
}
"""vLLM's own names for an architecture that config.json declares under another."""


@pytest.mark.parametrize(
    ("id", "kinds", "target"),
    [
        ("Qwen/Qwen2.5-VL-7B-Instruct", ["transformers"], "Qwen/Qwen2.5-VL-7B-Instruct"),
        ("OpenGVLab/InternVL3-8B", ["twin", "code"], "OpenGVLab/InternVL3-8B-hf"),
        ("OpenGVLab/InternVL3_5-38B", ["twin", "code"], "OpenGVLab/InternVL3_5-38B-HF"),
        ("OpenGVLab/InternVL2-8B", ["server", "server", "server", "environment", "code"], "vllm"),
        ("OpenGVLab/InternVL2_5-4B", ["code", "server"], "internvl_chat"),
        ("OpenGVLab/InternVL2_5-8B-MPO", ["twin", "server"], "OpenGVLab/InternVL2_5-8B-MPO-hf"),
        ("openbmb/MiniCPM-V-2_6", ["code", "server"], "minicpmv"),
        ("liuhaotian/llava-v1.5-13b", ["twin"], "llava-hf/llava-1.5-13b-hf"),
        ("lmms-lab/llava-onevision-qwen2-72b-ov-sft", ["twin"], "llava-hf/llava-onevision-qwen2-72b-ov-hf"),
        ("deepseek-ai/Janus-Pro-7B", ["twin"], "deepseek-community/Janus-Pro-7B"),
        ("mistralai/Pixtral-12B-2409", ["twin", "server"], "mistral-community/pixtral-12b"),
        ("nyu-visionx/cambrian-8b", ["environment", "none"], "cambrian"),
        ("nyu-visionx/Cambrian-S-7B", ["none"], ""),
        ("adept/fuyu-8b", ["environment", "none"], "fuyu"),
        ("NOBODY/knows-this", [], ""),
    ],
)
def test_routes_of_checkpoints(id: str, kinds: list[str], target: str) -> None:
    routes = checkpoint_routes(id)
    assert [route.kind for route in routes][: len(kinds)] == kinds
    assert not routes or routes[0].target == target
    assert bool(routes) == bool(kinds)


def test_a_twin_is_opened_and_named() -> None:
    twin = destination("OpenGVLab/InternVL3-8B", {"dtype": "float32"})
    assert twin.name == "OpenGVLab/InternVL3-8B-hf"
    assert twin.values == {"dtype": "float32"}
    assert "InternVL3-8B is loaded as its converted twin" in twin.remark
    phi = destination("microsoft/Phi-4-multimodal-instruct", {})
    assert (phi.name, phi.values) == ("microsoft/Phi-4-multimodal-instruct", {"revision": "refs/pr/70"})
    own = destination("OpenGVLab/Ovis2-1B", {"trust_remote_code": "yes"})
    assert own.name == "OpenGVLab/Ovis2-1B"


def test_the_revision_that_the_catalog_pins_is_not_that_of_the_twin() -> None:
    (pinned,) = [entry for entry in catalog() if entry.id == "AIDC-AI/Ovis2-1B"]
    assert pinned.revision
    twin = destination("AIDC-AI/Ovis2-1B", {"revision": pinned.revision})
    assert (twin.name, twin.values) == ("thisisiron/Ovis2-1B-hf", {})
    with pytest.raises(UsageError, match=r"revision=abc is of AIDC-AI/Ovis2-1B, .*Ovis2-1B-hf:re"):
        destination("AIDC-AI/Ovis2-1B", {"revision": "abc"})


@pytest.mark.attack(
    "names of checkpoints that transformers does not load, without a network",
    "one sentence with the nearest way that works, before anything is downloaded",
)
@pytest.mark.parametrize("id", [id for id in CHECKPOINTS if find_family(id)])
def test_a_name_that_does_not_open_says_what_does(id: str) -> None:
    best = checkpoint_routes(id)[0]
    if best.kind in ("transformers", "twin"):
        assert destination(id, {}).name == best.target.partition("@")[0]
        return
    with pytest.raises(NoRoute) as caught:
        open_model(f"hf/{id}")
    sentence = str(caught.value)
    assert id in sentence
    if best.kind == "none":
        assert best.note in sentence
        assert "http://HOST:PORT/v1#NAME" in sentence
    else:
        consents = best.kind != "environment" or environment_recipes()[best.target].own_code
        assert f"/{id}{':trust_remote_code=yes' if consents else ''}" in sentence


def test_a_folder_is_recognised_by_what_its_configuration_declares() -> None:
    assert config_type({"architectures": ["InternVLChatModel"]}) == "internvl_chat"
    assert config_type({"architectures": ["MiniCPMV"], "model_type": "minicpmv"}) == "minicpmv"
    assert config_type({"model_type": "qwen2_vl"}) == "qwen2_vl"
    assert config_type({"model_type": "qwen2", "architectures": ["Qwen2ForCausalLM"]}) == "qwen2"
    assert config_type({"model_type": "of_a_user"}) == ""


@pytest.mark.parametrize(
    ("files", "sentence"),
    [
        (
            {"model.safetensors.index.json": PARTS, "1.safetensors": "", "tokenizer.json": "{}"},
            "lacks 1 of the 2 files of its weights, e.g. 2.safetensors",
        ),
        ({"model.safetensors": ""}, "has no tokenizer"),
        (
            {"model.safetensors": "", "tokenizer.json": "{}", "preprocessor_config.json": PICTURES},
            "no processor that joins images and text",
        ),
    ],
)
def test_reports_missing_files_of_a_folder_before_loading(files: dict[str, str], sentence: str, tmp_path: Path) -> None:
    config = {"model_type": "of_a_user", "architectures": ["OfAUser"]}
    (tmp_path / "config.json").write_text(json.dumps(config), encoding="utf-8")
    for name, text in files.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    with pytest.raises(UsageError, match=sentence):
        open_model(f"hf/{tmp_path}", {"device": "cpu"})


def test_models_are_chosen_by_their_route(capsys: pytest.CaptureFixture[str]) -> None:
    entries = choose(catalog(), "route=twin")
    assert len(entries) == first_routes()["twin"]
    assert {entry.id for entry in choose(catalog(), "server=lmdeploy,route=code")} >= {"OpenGVLab/InternVL2_5-4B"}
    assert main(["list", "models", "--filter", "name=InternVL3-8B"]) == 0
    assert "twin OpenGVLab/InternVL3-8B-hf" in capsys.readouterr().out
    assert main(["list", "models", "--filter", "name=InternVL3-8B", "--json"]) == 0
    (row,) = json.loads(capsys.readouterr().out)
    assert [route["kind"] for route in row["routes"]][:2] == ["twin", "code"]


def test_info_says_the_route_and_what_was_tried(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["info", "InternVL2-8B"]) == 0
    out = capsys.readouterr().out
    assert "needs transformers before 4.50" in out
    assert "own code (internvl_chat); tried with a small model of the same layout" in out
    assert "vllm; evidence: server run here" in out
    assert "ask it by" in out
    assert "snellen run -m InternVL2-8B -b BENCHMARK" in out
    assert main(["info", "CongRong-v2.0"]) == 0
    out = capsys.readouterr().out
    assert provider_level("cloudwalk") == "schema"
    assert "API of cloudwalk; evidence: schema" in out
    assert main(["info", "cambrian-8b"]) == 0
    out = capsys.readouterr().out
    assert "environment (cambrian); not tried, read only; uv installs its authors' package" in out
    assert "snellen run -m cambrian-8b -b BENCHMARK" in out
    assert main(["info", "Yi-VL-6B"]) == 0
    assert "none: only its authors' package llava (Yi's)" in capsys.readouterr().out


def test_every_name_with_a_way_takes_it_without_another_spelling(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where all programs are here: no name that has a way needs a command to be typed again."""
    monkeypatch.setattr(nearest, "missing_program", lambda route, name: "")
    monkeypatch.setattr(nearest, "fetch_config", lambda name, revision: Path("cache", "a" * 40, "config.json"))
    taken = Counter[str]()
    for entry in catalog():
        kind = routes_of(entry)[0].kind
        route = nearest.nearest_route(entry.name)
        assert (route is not None) == (kind in ("code", "server", "environment")), entry.name
        if route is not None:
            taken[kind] += 1
            assert entry.id in route.spec
            assert route.code is None or f"revision={route.code.commit}" in route.spec
    assert sum(taken.values()) >= 180


def test_a_name_whose_ways_are_not_here_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nearest, "missing_program", lambda route, name: f"pip install {route.target}")
    with pytest.raises(NoRoute, match=r"vllm, which needs pip install vllm; .* then repeat the command"):
        nearest.nearest_route("Ovis2-34B")
