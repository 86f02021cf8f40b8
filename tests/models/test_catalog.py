from __future__ import annotations

import json
import re
import subprocess
import sys
from collections import Counter
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path

import msgspec
import pytest

from snellen.benchmarks.declaration.registry import list_benchmarks
from snellen.cli.main import main
from snellen.core.errors import UnknownName, UsageError
from snellen.core.model import Capabilities, Identity, abilities
from snellen.core.place import parse_space
from snellen.models.naming.builtin import builtin_names, is_builtin
from snellen.models.naming.catalog import FOLDER, CatalogEntry, catalog, facts_of, find_entry, sources
from snellen.models.naming.filters import choose, model_filter
from snellen.models.naming.registry import (
    ModelSpec,
    declared_space,
    describe_model,
    full_name,
    open_model,
    options_of,
    split_spec,
)
from snellen.prompts.recipes import find_recipe

QWEN2_5_REVISION = "cc594898137f460bfe9f0759e9844b3ce807cfb5"
FACTS = (
    "types",
    "inputs",
    "parameters",
    "language_model",
    "vision_encoder",
    "context",
    "released",
    "licence",
    "revision",
    "options",
    "max_new_tokens",
    "coordinates",
    "price",
)
"""Facts that need a source wherever an entry states them."""
LISTED = {entry.name: entry for entry in catalog()}
FAMILIES = sorted({entry.family for entry in catalog()})


def members(family: str) -> list[CatalogEntry]:
    return [entry for entry in catalog() if entry.family == family]


def names_of(text: str) -> list[str]:
    return [entry.name for entry in choose(catalog(), text)]


def test_the_catalog_is_as_large_as_it_says() -> None:
    assert len(LISTED) == len(catalog())
    assert len(catalog()) >= 250
    assert {"open", "closed"} == {entry.access for entry in catalog()}


@pytest.mark.parametrize("family", FAMILIES)
def test_every_entry_resolves_to_its_own_spec_by_every_name(family: str) -> None:
    for entry in members(family):
        assert is_builtin(entry.provider), entry.name
        assert entry.id
        parts = split_spec(entry.spec)
        assert (parts.provider, parts.name) == (entry.provider, entry.id)
        for one in (entry.name, *entry.aliases, *entry.types):
            found = split_spec(one)
            assert (found.provider, found.name) == (entry.provider, entry.id), one
        for one in (entry.name, *entry.aliases):
            assert find_entry(one.upper()) is entry


@pytest.mark.parametrize("family", FAMILIES)
def test_stated_facts_have_sources(family: str) -> None:
    for entry in members(family):
        stated = {fact for fact in FACTS if getattr(entry, fact) not in (None, "", (), {})}
        assert set(entry.sources) == {"names", *stated}, entry.name
        assert set(entry.sources.values()) <= sources().keys(), entry.name
        assert "text" in entry.inputs
        assert entry.outputs


def test_a_price_names_the_providers_own_page() -> None:
    for entry in catalog():
        if entry.price is not None:
            assert entry.price.page.startswith("https://"), entry.name
            assert 0 <= entry.price.input <= entry.price.output


def test_names_are_unique_to_one_model() -> None:
    words = [word.lower() for entry in catalog() for word in entry.names]
    assert [word for word, count in Counter(words).items() if count > 1] == []
    assert [one for one, count in Counter(e.spec for e in catalog()).items() if count > 1] == []


def test_lmms_eval_type_is_not_a_model_name() -> None:
    entry = find_entry("instructblip")
    assert entry is not None
    assert entry.types == ("instructblip",)
    # As printed in tables, without a word on which checkpoint is meant.
    assert find_entry("InstructBLIP") is None
    assert find_entry("InternVL2") is None


def test_no_name_hides_a_provider_or_a_benchmark() -> None:
    words = {word.lower() for entry in catalog() for word in entry.names}
    benchmarks = {word.lower() for one in list_benchmarks() for word in (one.name, *one.aliases)}
    assert not words & set(builtin_names())
    assert not words & benchmarks


def test_the_options_of_an_entry_are_its_providers() -> None:
    for entry in catalog():
        known = {option.name for option in options_of(entry.provider)}
        assert entry.options.keys() <= known, entry.name


def test_every_source_says_where_and_when_and_is_used() -> None:
    used = set(chain.from_iterable(entry.sources.values() for entry in catalog()))
    assert used == sources().keys()
    for source in sources().values():
        assert source.url.startswith("https://")
        assert re.fullmatch(r"20\d\d-\d\d-\d\d", source.read)


def test_dates_are_iso() -> None:
    for entry in catalog():
        assert re.fullmatch(r"|20\d\d(-\d\d(-\d\d)?)?", entry.released), entry.name


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("GPT4o_20241120", ModelSpec("openai", "gpt-4o-2024-11-20", {})),
        ("Qwen2.5-VL-7B-Instruct", ModelSpec("hf", "Qwen/Qwen2.5-VL-7B-Instruct", {"revision": QWEN2_5_REVISION})),
        ("hf/Qwen/Qwen2.5-VL-7B-Instruct", ModelSpec("hf", "Qwen/Qwen2.5-VL-7B-Instruct", {})),
        ("llava_v1.5_7b", ModelSpec("hf", "llava-hf/llava-1.5-7b-hf", {})),
        ("InternVL2-8B", ModelSpec("hf", "OpenGVLab/InternVL2-8B", {})),
        ("idefics2:dtype=float16", ModelSpec("hf", "HuggingFaceM4/idefics2-8b", {"dtype": "float16"})),
        ("blip2-opt-2.7b", ModelSpec("hf", "Salesforce/blip2-opt-2.7b", {"images": "first"})),
        ("blip2-opt-2.7b:images=native", ModelSpec("hf", "Salesforce/blip2-opt-2.7b", {"images": "native"})),
        ("o3", ModelSpec("openai", "o3-2025-04-16", {"max_new_tokens": "16384"})),
        ("openai/o3-2025-04-16", ModelSpec("openai", "o3-2025-04-16", {})),
    ],
)
def test_a_name_of_the_catalog_is_a_spec_with_its_options(name: str, parts: ModelSpec) -> None:
    assert split_spec(name) == parts


def test_a_revision_is_a_commit_and_pins_what_a_name_opens() -> None:
    pinned = [entry for entry in catalog() if entry.revision]
    assert len(pinned) > 50
    for entry in pinned:
        assert re.fullmatch(r"[0-9a-f]{40}", entry.revision), entry.name
        assert entry.provider == "hf"
        assert split_spec(entry.name).options["revision"] == entry.revision
        assert "revision" not in split_spec(entry.spec).options
        assert split_spec(f"{entry.name}:revision=main").options["revision"] == "main"


def test_facts_do_not_enter_the_identity(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "none-needed-to-open")
    by_name = describe_model("GPT4o_20241120").identity
    assert by_name == describe_model("openai/gpt-4o-2024-11-20").identity
    assert not {"context", "price", "parameters"} & by_name.facts.keys()


@pytest.mark.parametrize(
    ("name", "spec"),
    [
        ("llava_v1.5_7b", "hf/llava-hf/llava-1.5-7b-hf"),
        ("hf/org/model:dtype=float16", "hf/org/model"),
        ("InternVL2-8B:batch_size=1", "hf/OpenGVLab/InternVL2-8B"),
        ("", ""),
    ],
)
def test_a_model_has_one_full_name_by_whatever_name_it_was_opened(name: str, spec: str) -> None:
    assert full_name(name, Named("hf").identity) == spec
    # A model of one's own may go by the same name: then it is no other.
    assert full_name(name, Named("custom").identity) == name


@dataclass
class Named:
    provider: str
    capabilities: Capabilities = field(default_factory=Capabilities)
    named: str = "any"

    @property
    def identity(self) -> Identity:
        return Identity(self.provider, self.named)


def test_a_recipe_holds_by_every_name_of_a_model() -> None:
    names = ("llava_v1.5_7b", "hf/llava-hf/llava-1.5-7b-hf")
    identity = Named("hf").identity
    by_alias, by_spec = (find_recipe(full_name(name, identity), "eyechart") for name in names)
    assert by_alias is not None
    assert by_alias.name == by_spec.name == "llava-1.5"  # type: ignore[union-attr]


def test_facts_of_a_spec_with_options() -> None:
    entry = facts_of("hf/OpenGVLab/InternVL3-8B:dtype=bfloat16")
    assert entry is not None
    assert (entry.parameters, entry.family) == (7.94, "internvl")
    assert facts_of("hf/nobody/nothing") is None


def test_an_unknown_name_suggests_the_nearest() -> None:
    with pytest.raises(UnknownName, match=r"did you mean Qwen2\.5-VL-7B-Instruct"):
        open_model("Qwen2.5-VL-7B-Instrct")


def test_coordinates_are_names_of_spaces() -> None:
    spaces = Counter(parse_space(entry.coordinates).name for entry in catalog() if entry.coordinates)
    assert sum(spaces.values()) > 100
    assert {"thousandths", "sent-pixels", "thousandths-yx", "percent", "bins-yx", "fractions"} == spaces.keys()


@pytest.mark.parametrize(
    ("name", "provider", "identity", "space"),
    [
        ("Qwen2.5-VL-7B-Instruct", "hf", "Qwen/Qwen2.5-VL-7B-Instruct", ("sent-pixels", "catalog")),
        ("vllm/Qwen/Qwen2-VL-7B-Instruct", "vllm", "Qwen/Qwen2-VL-7B-Instruct", ("thousandths", "catalog")),
        ("http://h/v1#google/paligemma2-3b-mix-224", "server", "google/paligemma2-3b-mix-224", ("bins-yx", "catalog")),
        ("google/gemini-2.5-pro", "google", "gemini-2.5-pro", ("thousandths-yx", "catalog")),
        ("gpt-4o", "openai", "gpt-4o", None),
        ("hf/org/finetuned", "hf", "org/finetuned", None),
        # A model of one's own may go by the name of another.
        ("Qwen2.5-VL-7B-Instruct", "custom", "Qwen2.5-VL-7B-Instruct", None),
    ],
)
def test_the_space_of_a_model_by_whatever_name_it_is_opened(
    name: str, provider: str, identity: str, space: tuple[str, str] | None
) -> None:
    model = Named(provider, named=identity)
    assert declared_space(name, model) == space
    model.coordinates = "percent"  # type: ignore[attr-defined]
    assert declared_space(name, model) == ("percent", "model option")


def test_coordinates_are_an_option_of_every_model_and_no_part_of_it() -> None:
    plain, declared = open_model("random"), open_model("random:coordinates=bins-yx")
    assert (abilities(plain).coordinates, abilities(declared).coordinates) == ("", "bins-yx")
    assert plain.identity == declared.identity
    with pytest.raises(UsageError, match="'hundredths' is no coordinate space"):
        open_model("random:coordinates=hundredths")


@pytest.mark.parametrize(
    ("text", "among", "not_among"),
    [
        ("open,size<10,modality=video,name~qwen", "Qwen3-VL-8B-Instruct", "Qwen3-VL-32B-Instruct"),
        ("closed,provider=openai", "gpt-4o-2024-11-20", "claude-3-opus-20240229"),
        ("language_model~vicuna", "llava-1.5-7b-hf", "Qwen-VL-Chat"),
        ("name~llava_v1.5", "llava-v1.5-13b", "llava-onevision-qwen2-7b-ov"),
        ("gives=image", "FLUX.1-dev", "Qwen2.5-VL-7B-Instruct"),
        ("price<3,closed", "gpt-4o-2024-11-20", "gpt-4-turbo-2024-04-09"),
        ("released>=2025", "gpt-4.1-2025-04-14", "gpt-4o-2024-11-20"),
        ("released<=2024-05", "gpt-4o-2024-05-13", "gpt-4o-2024-08-06"),
        ("size=8,family=internvl", "InternVL2-8B", "InternVL3-8B"),
        ("size!=8,family=internvl", "InternVL3-8B", "InternVL2-8B"),
        ("modality!=video,family=qwen", "Qwen-VL-Chat", "Qwen2-VL-7B-Instruct"),
        ("name!~instruct,family=qwen", "Qwen-VL-Chat", "Qwen2-VL-7B-Instruct"),
        ("context >= 1000000", "gemini-2.5-pro", "gpt-4o-2024-11-20"),
    ],
)
def test_catalog_filters(text: str, among: str, not_among: str) -> None:
    assert {among, not_among} <= LISTED.keys()
    names = names_of(text)
    assert among in names
    assert not_among not in names


def test_a_fact_that_is_not_known_fulfils_nothing() -> None:
    assert LISTED["gpt-4o"].parameters is None
    assert "gpt-4o" not in names_of("size<10")
    assert "gpt-4o" not in names_of("size!=10")
    assert len(names_of("all")) == len(catalog())


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "expected open or closed or all, or a fact"),
        ("open,", "expected open or closed or all, or a fact"),
        ("sise<10", "unknown fact 'sise'; did you mean size?"),
        ("size<ten", "'ten' is not a number"),
        ("size~7", "size is a number; use <"),
        ("name<7", "name has no order; use ="),
    ],
)
def test_a_filter_that_is_off_is_one_sentence(text: str, sentence: str) -> None:
    with pytest.raises(UsageError, match=re.escape(sentence)):
        choose(catalog(), text)
    with pytest.raises(UsageError, match=re.escape(sentence)):
        model_filter(text)


def test_filter_applies_to_names_and_specs() -> None:
    small = model_filter("open,size<10")
    assert small("llava_v1.5_7b")
    assert small("hf/OpenGVLab/InternVL3-8B:dtype=float16")
    assert not small("Qwen2.5-VL-72B-Instruct")
    assert not small("a model of one's own")


def test_an_unknown_field_in_the_data_is_refused() -> None:
    line = 'name="a"\nspec="hf/a/b"\naccess="open"\ninputs=["text"]\noutputs=["text"]\nsources={}\n'
    assert msgspec.toml.decode(line, type=CatalogEntry).spec == "hf/a/b"
    with pytest.raises(msgspec.ValidationError, match="colour"):
        msgspec.toml.decode(line + 'colour="red"\n', type=CatalogEntry)


def test_list_models_by_a_filter(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["list", "models", "--filter", "open,size<10,modality=video,name~qwen"]) == 0
    shown = capsys.readouterr().out
    assert "Qwen2.5-VL-7B-Instruct" in shown
    assert "72B" not in shown
    assert main(["list", "models", "--filter", "name=GPT4o_20241120", "--json"]) == 0
    (found,) = json.loads(capsys.readouterr().out)
    assert found["price"] == {
        "input": 2.5,
        "output": 10.0,
        "cached": 1.25,
        "note": "",
        "page": "https://developers.openai.com/api/docs/pricing",
    }
    assert main(["list", "models", "--filter", "colour=red"]) == 2
    assert "unknown fact 'colour'" in capsys.readouterr().err
    assert main(["list", "benchmarks", "--filter", "open"]) == 2
    assert "--filter chooses models" in capsys.readouterr().err


def test_info_shows_facts_and_where_they_were_read(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["info", "GPT4o_20241120"]) == 0
    shown = capsys.readouterr().out
    assert re.search(r"^spec +openai/gpt-4o-2024-11-20$", shown, re.M)
    assert re.search(r"^context +128000 tokens \[litellm\]$", shown, re.M)
    assert re.search(r"^released +2024-11-20 \[dated-id\]$", shown, re.M)
    assert re.search(r"^\[litellm\] +https://github.com/BerriAI/.+, read 2026-11-21$", shown, re.M)
    assert main(["info", "Qwen2.5-VL-7B-Instruct"]) == 0
    assert re.search(r"^coordinates +sent-pixels \[qwen-boxes\]$", capsys.readouterr().out, re.M)
    assert main(["info", "Qwen2.5-VL-7B-Instruct:coordinates=percent"]) == 0
    assert re.search(r"^coordinates +percent \(model option\)$", capsys.readouterr().out, re.M)
    assert main(["info", "InternVL2-8"]) == 2
    assert "did you mean InternVL2-8B" in capsys.readouterr().err


def test_help_does_not_read_the_catalog() -> None:
    program = (
        "import sys\nfrom snellen.cli.parser import build_parser\nbuild_parser([])\n"
        "from snellen.models.naming.registry import split_spec\nsplit_spec('random')\n"
        "assert 'snellen.models.naming.catalog' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


def test_every_file_of_the_catalog_belongs_to_it() -> None:
    files = {path.stem for path in Path(FOLDER).glob("*.toml")} - {"sources"}
    assert files == {entry.family for entry in catalog()}


def test_a_leaderboard_of_the_models_a_filter_chooses(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = ["model,subtask,acc,acc_plus"]
    rows += [
        f"{name},existence,{acc},{acc}" for name, acc in (("Qwen-VL-Chat", 80), ("mPLUG-Owl2", 90), ("Nobody", 100))
    ]
    (tmp_path / "mme.csv").write_text("\n".join(rows) + "\n")
    board = ["leaderboard", str(tmp_path / "mme.csv"), "--format", "csv"]
    assert main(board) == 0
    assert "Nobody" in capsys.readouterr().out
    assert main([*board, "--filter", "open,size<10"]) == 0
    shown = capsys.readouterr().out
    assert "mPLUG-Owl2" in shown
    assert "Qwen-VL-Chat" not in shown  # 10 billion, by MMBench's Table 9
    assert "Nobody" not in shown
    assert main([*board, "--filter", "closed"]) == 2
    assert "no model here fulfils --filter 'closed'" in capsys.readouterr().err
