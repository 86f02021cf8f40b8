"""Recipes: each changes exactly what the authors of a model prescribe, and nothing else."""

from __future__ import annotations

import base64
import io
import json
from dataclasses import replace
from pathlib import Path

import pytest
from PIL import Image

from snellen import evaluate
from snellen.api.resolve_benchmarks import NamedBenchmark
from snellen.benchmarks.declaration.registry import apply_recipe, open_benchmark
from snellen.cli import main
from snellen.core.benchmark import RECIPE, Benchmark, Variant
from snellen.core.errors import UsageError
from snellen.core.model import Capabilities, Identity
from snellen.core.output import Generated
from snellen.core.record import run_flow
from snellen.core.request import Generate, Text
from snellen.core.sample import Sample
from snellen.prompts.choice import prompt
from snellen.prompts.recipes import MakerSetup, find_recipe, recipe_templates
from snellen.prompts.stored import load_template

LETTER = "Answer with the option's letter from the given choices directly."
WORD = "Answer the question using a single word or phrase."
ASKED = "Is it red? Please answer yes or no."
CHOICE = {"hint": "Look left.", "question": "Which?", "A": "red", "B": "blue", "answer": "A"}
CHINESE = {"question": "哪个?", "A": "red", "B": "blue", "answer": "A"}
YES_NO = {"question": ASKED, "answer": "Yes", "category": "existence"}
BARE = {"question": "Is it red?", "answer": "Yes", "category": "existence"}
OPEN = {"question": "What is it?", "answer": "red"}
PEER = json.loads(Path(__file__).with_name("vlmevalkit_prompts.json").read_text("utf-8"))
PLAIN = "Look left.\nWhich?\nA. red\nB. blue\n"
SHORT = "Hint: Look left.\nQuestion: Which?\nOptions:\nA. red\nB. blue\n"

CASES = [
    ("OpenGVLab/InternVL3-8B-hf", "mmstar", CHOICE, PLAIN + LETTER),
    ("OpenGVLab/InternVL2_5-8B", "mmbench", CHINESE, "哪个?\nA. red\nB. blue\n请直接回答选项字母。"),
    ("OpenGVLab/InternVL3-8B-hf", "mme", YES_NO, f"{ASKED} {WORD}"),
    ("OpenGVLab/InternVL2-8B", "amber", BARE, f"Is it red? Please answer yes or no. {WORD}"),
    ("OpenGVLab/InternVL2-8B", "hallusionbench", YES_NO, f"{ASKED} Please answer yes or no. {WORD}"),
    ("OpenGVLab/InternVL3-8B-hf", "chartqa", OPEN, f"What is it?\n{WORD}"),
    ("OpenGVLab/InternVL3-8B-hf", "mtvqa", OPEN, "What is it?"),
    ("BytedanceDouyinContent/SAIL-VL-2B", "mme", YES_NO, f"{ASKED} {WORD}"),
    ("h2oai/h2ovl-mississippi-2b", "mmstar", CHOICE, PLAIN + LETTER),
    ("AIDC-AI/Ovis2-8B", "mme", YES_NO, f"{ASKED}\n{WORD}"),
    ("AIDC-AI/Ovis2-8B", "mmbench", CHOICE, PLAIN + LETTER),
    ("AIDC-AI/Ovis1.5-Llama3-8B", "mmbench", CHINESE, "哪个?\nA. red\nB. blue\n请直接回答选项字母。"),
    ("rhymes-ai/Aria", "docvqa", OPEN, "What is it?\nAnswer briefly and directly."),
    ("rhymes-ai/Aria", "mmbench", CHINESE, f"哪个?\nA. red\nB. blue\n{LETTER}"),
    ("THUDM/cogvlm2-llama3-chat-19B", "mmbench", CHOICE, f"{PLAIN}{LETTER}\nShort Answer."),
    ("THUDM/cogvlm2-llama3-chat-19B", "mme", YES_NO, f"{ASKED}\nShort Answer."),
    (
        "THUDM/glm-4v-9b",
        "mmbench",
        CHOICE,
        f"{SHORT}Please select the correct answer from the options above. \n\nShort Answer.",
    ),
    ("openbmb/MiniCPM-V-2_6", "mmstar", CHOICE, f"{SHORT}\n{LETTER}"),
    ("openbmb/MiniCPM-o-2_6", "hallusionbench", YES_NO, f"{ASKED} Yes or No?"),
    (
        "HuggingFaceM4/idefics2-8b",
        "ai2d",
        CHOICE,
        "Hint: Look left.\nQuestion: Which?\nChoices:\nA. red\nB. blue\nAnswer with the letter.",
    ),
    (
        "HuggingFaceM4/Idefics3-8B-Llama3",
        "mmbench",
        CHOICE,
        "Question: Which?\nHint: Look left.\nChoices:\nA. red\nB. blue\nAnswer with a letter.",
    ),
    ("HuggingFaceM4/idefics2-8b", "textvqa", OPEN, f"What is it?\n{WORD}\nGive a very brief answer."),
    ("HuggingFaceM4/idefics2-8b", "hallusionbench", YES_NO, f"{ASKED}\nAnswer yes or no."),
    (
        "HuggingFaceTB/SmolVLM-Instruct",
        "docvqa",
        OPEN,
        "Give a short and terse answer to the "
        "following question. Do not paraphrase or reformat the text you see in the image. Do not "
        "include any full stops. Just give the answer without additional explanation. Question: "
        f"What is it?\n{WORD}",
    ),
    (
        "meta-llama/Llama-3.2-90B-Vision-Instruct",
        "ai2d",
        CHOICE,
        "Hint: Look left.\nLook at the "
        "scientific diagram carefully and answer the following question: Which?\nA. red\nB. blue\n"
        "Respond only with the correct option digit.",
    ),
    (
        "deepseek-ai/deepseek-vl2-tiny",
        "mmmu",
        CHOICE,
        f"Hint: Look left.\n Which?\nA. red\nB. blue\n{LETTER} {WORD}\n \n",
    ),
    ("BAAI/Bunny-v1_1-Llama-3-8B-V", "scienceqa", CHOICE, PLAIN + LETTER),
    (
        "NVEagle/Eagle-X5-7B",
        "mmstar",
        CHOICE,
        "Hint: Look left.\nWhich?\nA. red\nB. blue\n\n"
        "Answer with the option’s letter from the given choices directly. ",
    ),
    ("TIGER-Lab/Mantis-8B-siglip-llama3", "blink", CHOICE, PLAIN + LETTER),
    ("HaochenWang/ross-qwen2-7b", "hallusionbench", YES_NO, f"{ASKED}\n{WORD}"),
    ("llava-hf/llava-onevision-qwen2-7b-ov-hf", "mme", YES_NO, f"{ASKED}\n{WORD}"),
    (
        "Qwen/Qwen2.5-VL-7B-Instruct",
        "mmstar",
        CHOICE,
        f"{SHORT}Please select the correct answer from the options above. \n",
    ),
    ("Qwen/Qwen3-VL-8B-Instruct", "mme", BARE, "Is it red?"),
]


def table(folder: Path, cells: dict[str, str]) -> Path:
    buffer = io.BytesIO()
    Image.new("RGB", (8, 8), "red").save(buffer, "PNG")
    cells = {"index": "1", "image": base64.b64encode(buffer.getvalue()).decode(), **cells}
    path = folder / "q.tsv"
    path.write_text("\t".join(cells) + "\n" + "\t".join(cells.values()) + "\n")
    return path


def asked(benchmark: Benchmark) -> str:
    """The text of the one question."""
    (sample,) = benchmark.samples(benchmark.open())
    seen: list[str] = []

    def answer(request: object) -> Generated:
        assert isinstance(request, Generate)
        if request.to == "model":
            texts = [part.text for part in request.messages[-1].parts if isinstance(part, Text)]
            seen.append("\n".join(texts))
        return Generated("A")

    run_flow(benchmark.flow(sample), answer)
    return seen[0]


@pytest.mark.parametrize(("model", "benchmark", "cells", "expected"), CASES)
def test_the_prompt_is_what_the_authors_ask_with(
    tmp_path: Path, model: str, benchmark: str, cells: dict[str, str], expected: str
) -> None:
    variant = Variant(data=str(table(tmp_path, cells)), circular=None)
    plain = open_benchmark(benchmark, variant)
    changed = apply_recipe(f"hf/{model}", benchmark, plain, variant)
    recipe = find_recipe(f"hf/{model}", benchmark)
    assert recipe is not None
    assert asked(changed) == expected
    assert changed.parameters[RECIPE] == recipe.name
    assert changed.parameters["prompt"] == recipe.prompt
    assert changed.parameters["prompt_digest"] == load_template(recipe.prompt).short_digest
    told = {"prompt", "prompt_digest", RECIPE}
    assert {k: v for k, v in changed.parameters.items() if k not in told} == {
        k: v for k, v in plain.parameters.items() if k not in told
    }
    assert changed.max_new_tokens == (recipe.max_new_tokens or plain.max_new_tokens)


def test_every_wording_of_a_recipe_is_tested() -> None:
    asked_here = [find_recipe(f"hf/{model}", benchmark) for model, benchmark, _, _ in CASES]
    asked_there = [find_recipe(f"hf/{model}", PEER["rows"][data]["benchmark"]) for model, data, *_ in PEER["prompts"]]
    tested = {recipe.prompt for recipe in (*asked_here, *asked_there) if recipe}
    longer = {"smolvlm-textvqa", "smolvlm-chartqa", "molmo-tablevqa", "molmo-vqa"}
    assert set(recipe_templates()) - tested <= longer, "these are tested below"


@pytest.mark.parametrize("model", sorted({model for model, *_ in PEER["prompts"]}))
def test_the_prompt_is_what_the_models_own_builder_made(tmp_path: Path, model: str) -> None:
    """Golden data: VLMEvalKit's builders, run at the commit that the file names."""
    expected = {data: text.strip() for name, data, _, text in PEER["prompts"] if name == model}
    assert {data: asked_as_by_maker(tmp_path, model, data) for data in expected} == expected


def test_prompts_known_to_differ_from_the_builders_still_do(tmp_path: Path) -> None:
    for model, data, _, text, reason in PEER["different"]:
        assert asked_as_by_maker(tmp_path, model, data) != text.strip(), (model, data, reason)


def asked_as_by_maker(folder: Path, model: str, data: str) -> str:
    benchmark = PEER["rows"][data]["benchmark"]
    cells = {"answer": "A", **PEER["rows"][data]["row"]}
    variant = Variant(data=str(table(folder, cells)), circular="off")
    if benchmark != "mmbench":
        variant = replace(variant, circular=None)
    plain = open_benchmark(benchmark, variant)
    return asked(apply_recipe(f"hf/{model}", benchmark, plain, variant)).strip()


@pytest.mark.parametrize(
    ("name", "first", "last"),
    [
        ("aria-bare", "What is it?", "What is it?"),
        ("smolvlm-chartqa", "For the question below, follow the following instructions:", f"What is it?\n{WORD}"),
        (
            "smolvlm-textvqa",
            "Answer the following question about the image using as few words as "
            "possible. Follow these additional instructions:",
            f"Question: What is it?\n{WORD}",
        ),
        (
            "llama-vision-docvqa",
            "Read the text in the image carefully and answer the question with the text as seen exactly in the image.",
            " Question: What is it?",
        ),
    ],
)
def test_longer_templates(tmp_path: Path, name: str, first: str, last: str) -> None:
    question = Sample("1", "open", "What is it?", ("red",))
    (message,) = prompt(question, template=load_template(name).template)
    assert message.text().startswith(first)
    assert message.text().endswith(last)


@pytest.mark.parametrize(
    ("model", "benchmark"),
    [
        ("OpenGVLab/InternVL3-8B-hf", "video-mme"),
        ("OpenGVLab/InternVL3-8B-hf", "mme-realworld"),
        ("openbmb/MiniCPM-V-2_6", "mmmu"),
        ("meta-llama/Llama-3.2-11B-Vision-Instruct", "ai2d"),
        ("NVEagle/Eagle-X5-7B", "mmmu"),
        ("allenai/Molmo-7B-D-0924", "mmmu"),
    ],
)
def test_where_nothing_is_prescribed_nothing_changes(model: str, benchmark: str) -> None:
    recipe = find_recipe(f"hf/{model}", benchmark)
    assert recipe is None or not recipe.prompt


def test_a_recipes_wording_is_taken_by_name_and_not_listed_with_every_benchmark() -> None:
    benchmark = open_benchmark("mmbench:prompt=internvl")
    assert benchmark.parameters["prompt"] == "internvl"
    assert RECIPE not in benchmark.parameters
    assert benchmark.options["prompt"] == ("paper", "snellen", "vlmevalkit", "llava", "qwen2-vl")
    with pytest.raises(UsageError, match="expected one of paper, snellen, vlmevalkit, llava"):
        open_benchmark("mmbench:prompt=internvlm")


def test_the_longest_reply_is_the_recipes_unless_asked_for(tmp_path: Path) -> None:
    data, model = str(table(tmp_path, CHOICE)), "hf/rhymes-ai/Aria"
    plain = open_benchmark("mmbench", Variant(data=data))

    def longest(spec: str = "mmbench", tokens: int | None = None) -> int:
        variant = Variant(data=data, max_new_tokens=tokens)
        return apply_recipe(model, spec, plain, variant).max_new_tokens

    assert longest() == 64 != plain.max_new_tokens
    assert longest(tokens=9) == 9
    assert longest("mmbench:cot=on") == open_benchmark("mmbench:cot=on").max_new_tokens


def test_strings_that_are_not_prescribed_stay_the_benchmarks_own(tmp_path: Path) -> None:
    variant = Variant(data=str(table(tmp_path, YES_NO)))
    plain = open_benchmark("mme", variant)
    assert asked(apply_recipe("hf/TIGER-Lab/Mantis-8B", "mme", plain, variant)) == asked(plain)


def test_a_run_records_its_recipe_and_no_recipe_switches_it_off(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The bundled model stands for one whose authors prescribe a prompt."""
    from snellen.prompts import recipes as listed

    own = MakerSetup(name="own", models=("tiny",), basis="maker", prompt="llava")
    monkeypatch.setattr(listed, "load_setups", lambda: (own,))
    data = table(tmp_path, CHOICE)
    common = ["run", "-m", "snellen/tiny", "-b", str(data), "--no-html", "-q", "--out"]
    assert main([*common, str(tmp_path / "with")]) == 0
    assert main([*common, str(tmp_path / "without"), "--setup", "plain"]) == 0
    (run,) = evaluate(["snellen/tiny"], [str(data)], out=tmp_path / "with", html=False).runs
    assert run.info.config.parameters[RECIPE] == "own"
    (prompted,) = [one.passes[0].prompt for one in run.records()]
    assert prompted[0].text() == PLAIN + LETTER
    (plain,) = evaluate(["snellen/tiny"], [str(data)], out=tmp_path / "without", html=False, setup="plain").runs
    assert RECIPE not in plain.info.config.parameters
    (prompted,) = [one.passes[0].prompt for one in plain.records()]
    assert "Please select the correct answer" in prompted[0].text()


@pytest.mark.parametrize(
    ("name", "identity", "recipe"),
    [
        ("Qwen/Qwen2-VL-7B-Instruct", Identity("http", "Qwen/Qwen2-VL-7B-Instruct"), "qwen2-vl"),
        ("Qwen/Qwen2-VL-7B-Instruct:x=1", Identity("http", "Qwen/Qwen2-VL-7B-Instruct", {"x": "1"}), "qwen2-vl"),
        ("vllm/Qwen/Qwen2-VL-7B-Instruct", Identity("vllm", "Qwen/Qwen2-VL-7B-Instruct"), "qwen2-vl"),
        ("InternVL2-8B", Identity("server", "OpenGVLab/InternVL2-8B"), "internvl"),
        ("hf/OpenGVLab/InternVL2-8B", Identity("server", "hf/OpenGVLab/InternVL2-8B"), "internvl"),
        ("Bad", Identity("custom", "Bad"), None),
    ],
)
def test_a_recipe_is_applied_whatever_serves_the_model(name: str, identity: Identity, recipe: str | None) -> None:
    class Served:
        capabilities = Capabilities()

        def __init__(self) -> None:
            self.identity = identity

        def answer(self, request: Generate) -> Generated:
            return Generated("A")

    chosen = NamedBenchmark("mmstar", open_benchmark("mmstar"))
    made = chosen.for_model(name, Served(), Variant(), {}, is_by_maker=True)
    assert made.parameters.get(RECIPE) == recipe
