"""`vllm-local/`: vLLM's engine in this process. Without vLLM its names, options and sentences are
tested; with it (a release, in an environment of its own) the engine itself, on a small random
model, against the same model by transformers."""

from __future__ import annotations

import asyncio
import importlib.util
import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from family_parts import Family, Made, with_video
from family_qwen_like import QWEN, QWEN_TEMPLATE, pictures_of_qwen, qwen_text, signs, tower, words
from questions_for_models import about, ask, clip, noise, rank

from snellen.api.planning import plan
from snellen.cli.main import main
from snellen.core.errors import UsageError
from snellen.core.model import Capabilities, Identity
from snellen.core.output import Failure, Generated, Output, Ranked
from snellen.core.request import Compare, Generate, Generation, Media, Rank, Ref, Text, user
from snellen.core.watchdog import guard_processes
from snellen.models.hf.checkpoint import find_checkpoint
from snellen.models.naming.registry import open_model, split_spec
from snellen.models.vllm_local.engine import error_line, require_vllm, start_error
from snellen.models.vllm_local.model import VllmLocal, check_fit
from snellen.models.vllm_local.options import read_vllm_options, vllm_identity_facts
from snellen.models.vllm_local.prompt import check_candidates, conversation, image_part
from snellen.prompts.recipes import find_recipe

INSTALLED = importlib.util.find_spec("vllm") is not None


def qwen2() -> Made:
    """Of a head size for which vLLM has an implementation of attention."""
    import transformers as hf

    tokenizer = words(*QWEN)
    settings: dict[str, Any] = {
        "hidden_size": 64,
        "head_dim": 32,
        "rope_parameters": {"rope_type": "default", "mrope_section": [4, 6, 6], "rope_theta": 10000.0},
    }
    text = {**qwen_text(tokenizer), **settings}
    config = hf.Qwen2VLConfig(
        text_config=text, vision_config=tower(embed_dim=64, mlp_ratio=2, hidden_size=64), **signs(tokenizer)
    )
    video = "Qwen2VLVideoProcessor"
    processor = with_video(hf.Qwen2VLProcessor, video, pictures_of_qwen(), tokenizer, chat_template=QWEN_TEMPLATE)
    return Made(hf.Qwen2VLForConditionalGeneration(config), processor, video)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    built = Family("Qwen2-VL", qwen2).build(tmp_path_factory.mktemp("vllm") / "model")
    described = built / "processor_config.json"
    settings = json.loads(described.read_text())
    settings["video_processor"] |= {"patch_size": 8, "size": {"longest_edge": 16384, "shortest_edge": 256}}
    described.write_text(json.dumps(settings))
    template = built / "chat_template.jinja"
    video = "{%- elif c['type'] == 'video' -%}<|vision_start|><|video_pad|><|vision_end|>"
    branch = "{%- else -%}{{ c['text'] }}"
    template.write_text(template.read_text().replace(branch, video + branch))
    return built


@pytest.mark.skipif(INSTALLED, reason="vllm is installed")
def test_without_vllm_one_sentence_says_how_to_get_it() -> None:
    with pytest.raises(UsageError) as caught:
        open_model("vllm-local/Qwen/Qwen2-VL-7B-Instruct")
    assert "an environment of its own" in str(caught.value)
    assert "pip install 'snellen[vllm]'" in str(caught.value)
    with pytest.raises(UsageError, match="needs vllm"):
        require_vllm("vllm-local/x")


@pytest.mark.skipif(INSTALLED, reason="vllm is installed")
def test_facts_are_shown_without_vllm(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["info", "vllm-local/Qwen/Qwen2.5-VL-7B-Instruct"]) == 0
    said = capsys.readouterr().out
    assert "\nparameters         7 billion [" in said
    assert "\non this machine    vllm-local/Qwen/Qwen2.5-VL-7B-Instruct needs vllm, " in said
    assert main(["info", "vllm-local/me/mine"]) == 0
    assert "vllm-local/me/mine needs vllm, " in capsys.readouterr().out
    assert main(["info", "vllm-local/me/mine:foo=1"]) == 2
    assert main(["info", "Qwen2.5-VL-7B-Instruct"]) == 0
    said = capsys.readouterr().out
    assert "\nwithout a server   vllm-local/Qwen/Qwen2.5-VL-7B-Instruct, by vLLM's engine" in said
    planned = plan("vllm-local/me/mine", "eyechart", limit=5)
    assert [missing.what for missing in planned.missing] == ["extra"]


def test_names_options_and_recipes_reach_it() -> None:
    by_id = split_spec("vllm-local/ORG/NAME@abc123:dtype=float16")
    assert by_id == ("vllm-local", "ORG/NAME", {"revision": "abc123", "dtype": "float16"})
    by_name = split_spec("vllm-local/Qwen2.5-VL-7B-Instruct")
    assert by_name.name == "Qwen/Qwen2.5-VL-7B-Instruct"
    same = find_recipe("hf/Qwen/Qwen2.5-VL-7B-Instruct", "mmmu")
    assert same is not None
    assert find_recipe("vllm-local/Qwen/Qwen2.5-VL-7B-Instruct", "mmmu") == same
    with pytest.raises(UsageError, match="vllm-local models have no option 'batch_size'"):
        open_model("vllm-local/x:batch_size=4")


def test_options_become_arguments_of_the_engine_and_facts_of_the_model(folder: Path) -> None:
    checkpoint = find_checkpoint(str(folder))
    plain = read_vllm_options({}, checkpoint)
    arguments = plain.engine_arguments("folder", on_cpu=False)
    assert (arguments["model"], arguments["dtype"]) == ("folder", "bfloat16")
    assert (arguments["gpu_memory_utilization"], arguments["tensor_parallel_size"]) == (0.9, 1)
    assert not {"max_model_len", "quantization", "mm_processor_kwargs"} & arguments.keys()
    assert vllm_identity_facts(checkpoint, plain) == {
        "revision": checkpoint.revision,
        "dtype": "bfloat16",
        "images": "native",
    }
    chosen = {
        "dtype": "auto",
        "tensor_parallel": "2",
        "gpu_memory": "0.5",
        "context": "4096",
        "quantisation": "fp8",
        "max_pixels": "50176",
        "thinking": "off",
        "concurrency": "8",
        "images": "first",
    }
    options = read_vllm_options(chosen, checkpoint)
    arguments = options.engine_arguments("folder", on_cpu=False)
    expected = {
        "dtype": "float32",
        "tensor_parallel_size": 2,
        "gpu_memory_utilization": 0.5,
        "max_model_len": 4096,
        "quantization": "fp8",
        "max_num_seqs": 8,
        "mm_processor_kwargs": {"max_pixels": 50176},
    }
    assert {name: arguments[name] for name in expected} == expected
    assert options.template_values == {"enable_thinking": False}
    facts = vllm_identity_facts(checkpoint, options)
    assert facts["max_pixels"] == "50176"
    assert "tensor_parallel" not in facts
    for text in ("0", "1.5", "half"):
        with pytest.raises(UsageError, match="expected a number above 0, at most 1"):
            read_vllm_options({"gpu_memory": text}, checkpoint)


def test_messages_as_vllm_has_them() -> None:
    picture = Media("image", "digest")
    asked = (user(Text("one"), Text("two"), picture, Text("three")), user(Text("four")))
    shown = conversation(asked, lambda part: image_part("pixels", part.digest))
    assert shown == [
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "one\ntwo"},
                {"type": "image_pil", "image_pil": "pixels", "uuid": "digest"},
                {"type": "text", "text": "three"},
            ],
        },
        {"role": "user", "content": "four"},
    ]


def test_where_candidates_begin() -> None:
    assert check_candidates([1, 2, 3], [[1, 2, 3, 4], [1, 2, 5]]) == 2
    with pytest.raises(Exception, match="do not begin like the context"):
        check_candidates([1], [[2, 3]])
    with pytest.raises(Exception, match="no tokens of its own"):
        check_candidates([1, 2], [[1, 2], [1, 2, 3]])


LOG = """(EngineCore pid=31144) ERROR 11-23 01:31:05 [core.py:1180] EngineCore failed to start.
(EngineCore pid=31144) ERROR 11-23 01:31:05 [core.py:1180] Traceback (most recent call last):
(EngineCore pid=31144) ERROR 11-23 01:31:05 [core.py:1180] ValueError: To serve at least one \
request with the model's max seq len (1048576), 8.0 GiB KV cache is needed, which is larger than \
the available KV cache memory (1.0 GiB).
RuntimeError: Engine core initialization failed. See root cause above. Failed core proc(s): {}
"""


def test_why_an_engine_does_not_start() -> None:
    error = str(start_error("vllm-local/x", LOG))
    assert "vllm-local/x does not fit into the memory: To serve at least one request" in error
    assert "smaller context=" in error
    other = str(start_error("vllm-local/x", "a.b.ValueError: no such architecture"))
    assert other == "vLLM cannot load vllm-local/x: no such architecture"
    invalid = "ValidationError: 1 validation error for X\n  Value error, no such [type=value_error]"
    assert error_line(invalid) == "no such"
    assert error_line("") == "no reason is given"


def test_weights_that_cannot_fit(folder: Path) -> None:
    options = read_vllm_options({"tensor_parallel": "2"}, find_checkpoint(str(folder)))
    check_fit("x", 100 << 30, 80 << 30, "cuda", options)
    check_fit("x", 100 << 30, 0, "cuda", options)
    with pytest.raises(UsageError, match=r"take 214\.7 GB, and vLLM may take 154\.6 GB of GPU"):
        check_fit("x", 200 << 30, 80 << 30, "cuda", options)


SHORT = Generation(max_new_tokens=8)
QUESTIONS: list[Generate | Rank] = [
    ask("yes or no? " * 6, settings=SHORT),
    ask("Which option is right? A. red B. green", settings=Generation(max_new_tokens=8, logprobs=3)),
    rank("Is it red?", ("red", "a dark green square", "yes")),
    ask("What?", settings=Generation(max_new_tokens=8, repetition_penalty=1.3, presence_penalty=1)),
    ask("What color is it?", noise(1), settings=SHORT),
    ask("Is the first above the second?", noise(1), noise(2, 70, 40), settings=SHORT),
    rank("Is there a square?", ("red", "a dark green square", "yes"), noise(1)),
    about(clip(1, 2, 3, 4)),
    about(clip(1, 2, 3, 4), candidates=("red", "a dark green square")),
    about(clip(4, 3, 2, 1), candidates=("red", "a dark green square")),
]
DRAWN = [ask("yes or no?", settings=Generation(max_new_tokens=8, temperature=0.9, seed=seed)) for seed in (1, 1, 2)]


@pytest.fixture(scope="module")
def model(folder: Path) -> Iterator[VllmLocal]:
    if not INSTALLED:
        pytest.skip("vllm is not installed")
    spec = f"vllm-local/{folder}:dtype=float32,context=512,eager=yes,concurrency=8"
    opened = open_model(spec)
    assert isinstance(opened, VllmLocal)
    yield opened
    opened.close_engine()


def answers(model: VllmLocal, requests: Sequence[Any]) -> list[Output]:
    """All at once, as a run hands them over."""

    async def main() -> list[Output]:
        return list(await asyncio.gather(*map(model.answer, requests)))

    return asyncio.run(main())


@pytest.mark.release
@pytest.mark.filterwarnings("ignore")
def test_vllm_answers_as_transformers_does(model: VllmLocal, folder: Path) -> None:
    """Words alone to rounding; pictures to what resizing by another library changes."""
    hf: Any = open_model(f"hf/{folder}:dtype=float32,device=cpu,processor=torchvision")
    expected = hf.answer_batch(QUESTIONS)
    got = answers(model, QUESTIONS)
    for request, one, other in zip(QUESTIONS, got, expected, strict=True):
        assert type(one) is type(other), (one, other)
        if isinstance(one, Generated):
            assert isinstance(request, Generate)
            assert (one.text, one.stop_reason) == (other.text, other.stop_reason)
            assert one.first_logprobs == pytest.approx(other.first_logprobs, abs=1e-3)
            assert one.usage.prompt_tokens == other.usage.prompt_tokens
            assert one.image_sizes == other.image_sizes
        else:
            assert isinstance(one, Ranked)
            scores = [score.logprob for score in one.candidates]
            assert scores == pytest.approx([s.logprob for s in other.candidates], rel=1e-3)
            assert [s.tokens for s in one.candidates] == [s.tokens for s in other.candidates]


@pytest.mark.release
@pytest.mark.filterwarnings("ignore")
def test_vllm_says_at_which_sizes_it_sees_pictures(model: VllmLocal) -> None:
    """Also of pictures that its cache has."""
    asked = [ask(f"Where? {number}", noise(7, 90, 50), noise(8, 48, 32), settings=SHORT) for number in range(3)]
    found = [one.image_sizes for request in asked for one in answers(model, [request]) if isinstance(one, Generated)]
    assert found == 3 * [((80, 32), (48, 32))]
    [same] = answers(model, [ask("Where?", noise(8, 48, 32), settings=SHORT)])
    assert isinstance(same, Generated)
    assert same.image_sizes == ()


@pytest.mark.release
@pytest.mark.filterwarnings("ignore")
def test_draws_stops_and_failures_of_the_engine(model: VllmLocal) -> None:
    first, again, other = answers(model, DRAWN)
    assert isinstance(first, Generated)
    assert isinstance(other, Generated)
    alone = answers(model, DRAWN[:1])[0]
    assert isinstance(again, Generated)
    assert isinstance(alone, Generated)
    assert first.text == again.text == alone.text
    assert first.text != other.text
    whole = answers(model, [QUESTIONS[0]])[0]
    assert isinstance(whole, Generated)
    stop = whole.text[3]
    stopped = ask("yes or no? " * 6, settings=Generation(max_new_tokens=8, stop=(stop,)))
    cut, too_long, compared, broken = answers(
        model,
        [
            stopped,
            ask("red square " * 400, settings=SHORT),
            Compare(picture="a", candidates=("b",), ref=Ref("q")),
            ask("What?", b"no picture", settings=SHORT),
        ],
    )
    assert isinstance(cut, Generated)
    assert cut.text == whole.text[: whole.text.index(stop)].strip()
    assert cut.stop_reason == "stop"
    kinds = [one.kind for one in (too_long, compared, broken) if isinstance(one, Failure)]
    assert kinds == ["too_long", "unsupported", "media"]
    prompt = asyncio.run(model.render_prompt(QUESTIONS[4]))
    assert prompt is not None
    assert prompt.image_sizes == ((40, 30),)
    assert "What color is it?" in str(prompt.text)


@pytest.mark.release
@pytest.mark.filterwarnings("ignore")
def test_an_engine_that_does_not_start_says_why(folder: Path, tmp_path: Path) -> None:
    if not INSTALLED:
        pytest.skip("vllm is not installed")
    broken = tmp_path / "model"
    broken.mkdir()
    for file in folder.iterdir():
        (broken / file.name).write_bytes(file.read_bytes())
    config = json.loads((broken / "config.json").read_text())
    config["architectures"] = ["NoSuchModelForConditionalGeneration"]
    config["model_type"] = "qwen2_vl"
    (broken / "config.json").write_text(json.dumps(config))
    model = open_model(f"vllm-local/{broken}:context=512")
    assert isinstance(model, VllmLocal)
    with pytest.raises(UsageError, match=r"vLLM cannot load vllm-local/model: .*NoSuchModel"):
        model.load()


def test_identity_and_capabilities_of_vllm_local(folder: Path) -> None:
    checkpoint = find_checkpoint(str(folder))
    options = read_vllm_options({"images": "first"}, checkpoint)
    model = VllmLocal(checkpoint, options, Identity("vllm-local", checkpoint.name))
    assert isinstance(model.capabilities, Capabilities)
    assert model.capabilities.log_likelihood
    assert not model.capabilities.many_images
    assert model.concurrency == 256


@pytest.mark.parametrize("in_order", [True, False])
def test_processes_of_an_interrupted_run_end(in_order: bool) -> None:
    """What holds the GPU's memory must not outlive the command, even if that was killed."""
    engine = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    guard = guard_processes([engine.pid], 3.0)
    guard.communicate(b"ended\n" if in_order else b"", timeout=30)
    assert (engine.poll() is None) is in_order
    engine.kill()
    engine.wait()
