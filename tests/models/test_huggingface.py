"""The hf backend on random-weight checkpoints of real architectures."""

from __future__ import annotations

import importlib.util
import json
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from questions_for_models import ask, noise, rank, shown

from snellen.api.planning import plan
from snellen.core.errors import MissingExtra, UsageError
from snellen.core.media import FileSource, InlineSource, decode_image, digest_bytes
from snellen.core.output import Failure, Generated, Output, Ranked
from snellen.core.request import Generate, Generation, Media, Message, Rank, Ref, Text, user
from snellen.models.hf.checkpoint import find_checkpoint
from snellen.models.hf.model import HuggingFace, open_hf
from snellen.models.naming.registry import open_model

Folder = Callable[[str], Path]

FAMILIES = ("llava", "idefics3", "llama")
MIXED = [
    ask("What color is it?"),
    ask("Which option is right? " + "A. red B. green " * 8, noise(1)),
    ask("Is there a red square?", noise(2, 64, 64), noise(3)),
    ask("A", noise(1)),
    ask("yes or no? " * 20),
    ask("the picture", noise(4, 20, 90), noise(5), noise(6)),
    ask("Answer with one word.", noise(7), settings=Generation(max_new_tokens=4)),
    ask("blue star", noise(8)),
]


def opened(folder: Path, **options: str) -> HuggingFace:
    model = open_model(f"hf/{folder}", options)
    assert isinstance(model, HuggingFace)
    return model


def texts(outputs: Sequence[Output]) -> list[str]:
    assert all(isinstance(output, Generated) for output in outputs), outputs
    return [output.text for output in outputs if isinstance(output, Generated)]


def text_only(requests: Sequence[Generate]) -> list[Generate]:
    return [ask(request.messages[0].text(), settings=request.settings) for request in requests]


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("temperature", [0.0, 0.8])
def test_a_batch_does_not_change_answers(checkpoint: Folder, family: str, temperature: float) -> None:
    model = opened(checkpoint(family))
    requests = text_only(MIXED) if family == "llama" else MIXED
    requests = [
        Generate(
            messages=request.messages,
            media=request.media,
            ref=request.ref,
            settings=Generation(request.settings.max_new_tokens, temperature, 0.9, seed=1),
        )
        for request in requests
    ]
    together = model.answer_batch(requests)
    alone = [model.answer_batch([request])[0] for request in requests]
    assert texts(together) == texts(alone)
    assert len(set(texts(together))) >= 7, "the checkpoint tells the questions apart"
    usage = [(o.usage, o.stop_reason) for o in together if isinstance(o, Generated)]
    assert usage == [(o.usage, o.stop_reason) for o in alone if isinstance(o, Generated)]


@pytest.mark.parametrize("family", ["llava", "idefics3"])
def test_pictures_and_their_places_reach_the_model(checkpoint: Folder, family: str) -> None:
    model = opened(checkpoint(family))
    one, other = noise(1), noise(2)
    media = {digest_bytes(data): InlineSource(data) for data in (one, other)}
    first, second = (Media("image", digest) for digest in media)
    orders = [
        (first, second, Text("red")),
        (second, first, Text("red")),
        (first, Text("red"), second),
        (first, Text("red")),
    ]
    requests = [Rank(messages=(user(*parts),), media=media, ref=Ref("q"), candidates=("A",)) for parts in orders]
    outputs = model.answer_batch(requests)
    scores = {o.candidates[0].logprob for o in outputs if isinstance(o, Ranked)}
    assert len(scores) == 4


@pytest.mark.parametrize("family", FAMILIES)
def test_ranking_equals_a_plain_forward_pass(checkpoint: Folder, family: str) -> None:
    import torch

    folder = checkpoint(family)
    model = opened(folder, batch_size="3")
    pictures = () if family == "llama" else (noise(1), noise(2))
    candidates = ("red", "a dark green square", "yes", "A", "no")
    [output] = model.answer_batch([rank("Which option is right?", candidates, *pictures)])
    assert isinstance(output, Ranked)
    loaded = model.load()
    holders = "<image>" * len(pictures)
    context = f"<|user|>{holders}Which option is right?<|end|><|assistant|>"
    decoded = [decode_image(data) for data in pictures]

    def ids(text: str) -> Any:
        images = {"images": [decoded]} if decoded else {}
        return loaded.processor(text=[text], return_tensors="pt", **images)

    for candidate, score in zip(candidates, output.candidates, strict=True):
        inputs = ids(context + candidate)
        start = ids(context)["input_ids"].shape[1]
        tokens = inputs["input_ids"][0]
        with torch.no_grad():
            inputs.pop("token_type_ids", None)
            steps = loaded.model(**inputs).logits[0].log_softmax(-1)
        plain = sum(float(steps[at - 1, tokens[at]]) for at in range(start, len(tokens)))
        assert score.tokens == len(tokens) - start
        assert score.logprob == pytest.approx(plain, abs=1e-4)


def test_greedy_takes_the_likeliest_token_at_every_step(checkpoint: Folder) -> None:
    import torch

    model = opened(checkpoint("llava"))
    [output] = model.answer_batch([ask("What color is it?", settings=Generation(max_new_tokens=6))])
    loaded = model.load()
    ids = loaded.tokenizer("<|user|>What color is it?<|end|><|assistant|>", return_tensors="pt")
    tokens = ids["input_ids"]
    with torch.no_grad():
        for _ in range(6):
            last = loaded.model(input_ids=tokens).logits[0, -1].argmax()
            tokens = torch.cat([tokens, last[None, None]], 1)
    new = tokens[0, ids["input_ids"].shape[1] :]
    assert texts([output]) == [loaded.tokenizer.decode(new, skip_special_tokens=True).strip()]


def test_a_broken_picture_fails_alone(checkpoint: Folder, tmp_path: Path) -> None:
    model = opened(checkpoint("llava"))
    absent = ask("What is it?", noise(1))
    digest = next(iter(absent.media))
    absent = Generate(messages=absent.messages, ref=Ref("x"), media={digest: FileSource(str(tmp_path / "no.png"))})
    good = MIXED[2]
    outputs = model.answer_batch([good, ask("What is it?", b"GIF89a torn"), absent, good])
    kinds = [output.kind if isinstance(output, Failure) else "text" for output in outputs]
    # The second broken picture is served from the cache of pictures only once it was decoded.
    assert kinds == ["text", "media", "media", "text"]
    assert isinstance(outputs[1], Failure)
    assert "cannot be decoded" in outputs[1].message
    assert texts([outputs[0]]) == texts(model.answer_batch([good]))


def test_input_that_a_model_cannot_take_is_unsupported(checkpoint: Folder) -> None:
    llava, llama = opened(checkpoint("llava")), opened(checkpoint("llama"))
    messages, media = shown("What is it?", noise(1))
    video = Message("user", (Media("video", "0" * 64),))
    outputs = [
        *llama.answer_batch([Generate(messages=messages, media=media, ref=Ref("q"))]),
        *llava.answer_batch(
            [Generate(messages=(video,), ref=Ref("q")), ask("Here <image> is a sign"), ask("word " * 600), ask("fine")]
        ),
    ]
    assert [getattr(output, "kind", "text") for output in outputs] == [*["unsupported"] * 4, "text"]
    assert "the model takes 512" in getattr(outputs[3], "message", "")


def test_stop_strings_and_the_token_limit(checkpoint: Folder) -> None:
    model = opened(checkpoint("llava"))
    question = "What color is it?"
    [whole] = texts(model.answer_batch([ask(question, settings=Generation(max_new_tokens=10))]))
    stop = whole[2:4]
    [cut] = model.answer_batch([ask(question, settings=Generation(max_new_tokens=10, stop=(stop,)))])
    assert isinstance(cut, Generated)
    assert cut.text == whole.split(stop)[0].strip()
    assert cut.stop_reason == "stop"
    [short] = model.answer_batch([ask(question, settings=Generation(max_new_tokens=1))])
    assert isinstance(short, Generated)
    assert short.stop_reason == "length"
    assert short.usage is not None
    assert short.usage.completion_tokens == 1


def test_sampling_depends_on_seed_and_attempt(checkpoint: Folder) -> None:
    model = opened(checkpoint("llava"))

    def sample(seed: int, attempt: int = 0) -> str:
        base = ask("What color is it?")
        request = Generate(
            messages=base.messages,
            ref=base.ref,
            settings=Generation(max_new_tokens=8, temperature=1.0, seed=seed),
            attempt=attempt,
        )
        return texts(model.answer_batch([request]))[0]

    assert sample(1) == sample(1)
    assert len({sample(1), sample(2), sample(1, attempt=1)}) == 3


def test_the_first_image_policy(checkpoint: Folder) -> None:
    native, first = opened(checkpoint("llava")), opened(checkpoint("llava"), images="first")
    assert not first.capabilities.many_images
    assert first.identity != native.identity
    several = ask("What is it?", noise(1), noise(2), noise(3))
    assert texts(first.answer_batch([several])) == texts(native.answer_batch([ask("What is it?", noise(1))]))


def test_identity_is_stable_and_follows_the_weights(checkpoint: Folder, tmp_path: Path) -> None:
    from tiny_checkpoints import llava

    folder = checkpoint("llava")
    one, again = opened(folder).identity, opened(folder).identity
    assert one == again
    copy = Path(shutil.copytree(folder, tmp_path / "llava"))
    assert opened(copy).identity == one
    other = opened(llava(tmp_path / "other" / "llava", seed=9)).identity
    assert other.facts["revision"] != one.facts["revision"]
    (copy / "chat_template.jinja").write_text("changed")
    assert opened(copy).identity.facts["revision"] != one.facts["revision"]


def test_options_that_change_replies_are_in_the_identity(checkpoint: Folder) -> None:
    folder = checkpoint("llava")
    assert opened(folder).identity.facts["dtype"] == "float32"
    facts = opened(folder, dtype="bfloat16", attention="eager").identity.facts
    assert (facts["dtype"], facts["attention"]) == ("bfloat16", "eager")
    assert opened(folder, batch_size="2").identity == opened(folder).identity


def test_capabilities_follow_the_checkpoint(checkpoint: Folder) -> None:
    assert opened(checkpoint("llava")).capabilities.inputs == {"text", "image"}
    assert opened(checkpoint("llama")).capabilities.inputs == {"text"}


def test_opening_loads_no_weights(checkpoint: Folder) -> None:
    spec = f"hf/{checkpoint('llava')}:device=auto,dtype=float32,batch_size=8"
    program = (
        "import sys\nfrom snellen.models.naming.registry import describe_model\n"
        f"describe_model({spec!r})\n"
        "print(sorted({'torch', 'transformers'} & set(sys.modules)))\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout.strip() == "[]", done.stderr


def folder_without(source: Path, target: Path, *names: str) -> Path:
    shutil.copytree(source, target)
    for name in names:
        (target / name).unlink()
    return target


@pytest.mark.parametrize(
    ("absent", "sentence"), [("config.json", "has no config.json"), ("model.safetensors", "holds no weights")]
)
def test_an_incomplete_folder(checkpoint: Folder, tmp_path: Path, absent: str, sentence: str) -> None:
    folder = folder_without(checkpoint("llava"), tmp_path / "m", absent)
    with pytest.raises(UsageError, match=sentence):
        open_hf(str(folder), {})


def test_a_folder_that_is_not_there() -> None:
    with pytest.raises(UsageError, match=r"there is no folder \./nowhere"):
        open_model("./nowhere")


def test_no_chat_template(checkpoint: Folder, tmp_path: Path) -> None:
    folder = folder_without(checkpoint("llava"), tmp_path / "m", "chat_template.jinja")
    with pytest.raises(UsageError, match="has no chat template") as told:
        opened(folder)
    missing = plan(f"hf/{folder}", "eyechart", limit=1, out=str(tmp_path)).missing
    assert [(each.what, each.sentence) for each in missing] == [("model", str(told.value))]


def test_the_weights_are_not_read_for_a_checkpoint_without_chat_template(checkpoint: Folder, tmp_path: Path) -> None:
    folder = folder_without(checkpoint("llava"), tmp_path / "m", "chat_template.jinja")
    (folder / "model.safetensors").write_bytes(b"torn")
    with pytest.raises(UsageError, match="has no chat template"):
        open_hf(str(folder), {})


@pytest.mark.parametrize(
    ("file", "content"),
    [
        ("chat_template.jinja", "{{ messages }}"),
        ("chat_template.json", '{"chat_template": "{{ messages }}"}'),
        ("additional_chat_templates/default.jinja", "{{ messages }}"),
        ("tokenizer_config.json", '{"chat_template": "{{ messages }}"}'),
        ("processor_config.json", '{"chat_template": "{{ messages }}"}'),
    ],
)
def test_files_that_may_hold_a_chat_template(checkpoint: Folder, tmp_path: Path, file: str, content: str) -> None:
    folder = folder_without(checkpoint("llava"), tmp_path / "m", "chat_template.jinja")
    assert not find_checkpoint(str(folder)).declares_chat_template()
    (folder / file).parent.mkdir(exist_ok=True)
    (folder / file).write_text(content, encoding="utf-8")
    assert find_checkpoint(str(folder)).declares_chat_template()


def test_missing_weights_are_not_filled_with_noise(checkpoint: Folder, tmp_path: Path) -> None:
    from safetensors.torch import load_file, save_file

    folder = Path(shutil.copytree(checkpoint("llava"), tmp_path / "m"))
    weights = load_file(folder / "model.safetensors")
    absent = next(name for name in weights if "layers.1" in name)
    del weights[absent]
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(UsageError, match="1 are missing"):
        opened(folder).load()


def test_a_torn_weights_file(checkpoint: Folder, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(checkpoint("llava"), tmp_path / "m"))
    weights = (folder / "model.safetensors").read_bytes()
    (folder / "model.safetensors").write_bytes(weights[: len(weights) // 2])
    model = opened(folder)
    for _ in range(2):
        with pytest.raises(UsageError, match=r"m \(LlavaForCondition\w+\) cannot be loaded"):
            model.answer_batch([MIXED[0]])


def test_an_unknown_architecture(checkpoint: Folder, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(checkpoint("llava"), tmp_path / "m"))
    config = json.loads((folder / "config.json").read_text())
    config |= {"model_type": "hologram", "architectures": ["HologramModel"]}
    (folder / "config.json").write_text(json.dumps(config))
    with pytest.raises(UsageError, match="HologramModel"):
        opened(folder).load()


def test_cuda_asked_but_absent(checkpoint: Folder) -> None:
    import torch

    absent = torch.cuda.device_count()
    with pytest.raises(UsageError, match=f"has {absent} CUDA devices"):
        opened(checkpoint("llava"), device=f"cuda:{absent}")
    with pytest.raises(UsageError, match="expected auto, cpu, cuda"):
        opened(checkpoint("llava"), device="gpu")


def test_hub_id_offline(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    program = (
        "from snellen.core.errors import MissingExtra, UsageError\n"
        "from snellen.models.naming.registry import open_model\n"
        "try:\n    open_model('hf/nobody/no-such-model', {'device': 'cpu'})\n"
        "except UsageError as error:\n    print(error)\n"
    )
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setenv("HF_HOME", str(tmp_path))
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout.count("\n") == 1, done.stderr
    assert "hf download nobody/no-such-model" in done.stdout


@pytest.mark.release
def test_hub_id_in_the_hubs_cache(checkpoint: Folder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    commit = "0123456789abcdef0123456789abcdef01234567"
    home = tmp_path / "hub" / "models--org--llava"
    shutil.copytree(checkpoint("llava"), home / "snapshots" / commit)
    (home / "refs").mkdir()
    (home / "refs" / "main").write_text(commit)
    program = (
        "from questions_for_models import ask\n"
        "from snellen.models.naming.registry import open_model\n"
        "model = open_model('hf/org/llava:device=cpu')\n"
        "print(model.identity.name, model.identity.facts['revision'])\n"
        "print(repr(model.answer_batch([ask('What color is it?')])[0].text))\n"
    )
    monkeypatch.setenv("HF_HOME", str(tmp_path))
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    folder = Path(__file__).parent
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, cwd=folder)
    [local] = texts(opened(checkpoint("llava")).answer_batch([ask("What color is it?")]))
    assert done.stdout == f"org/llava {commit}\n{local!r}\n", done.stderr


def test_a_missing_library_names_the_extra(checkpoint: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "transformers", None)
    with pytest.raises(MissingExtra, match=r"needs transformers.*pip install 'snellen\[hf\]'"):
        opened(checkpoint("llava"))


def test_reports_processor_that_needs_torchvision(checkpoint: Folder, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(checkpoint("llava"), tmp_path / "m"))
    described = json.loads((folder / "processor_config.json").read_text())
    described["processor_class"] = "PixtralProcessor"
    (folder / "processor_config.json").write_text(json.dumps(described))
    if importlib.util.find_spec("torchvision") is not None:
        opened(folder).load()
        return
    with pytest.raises(UsageError, match="PixtralProcessor of hf/m needs torchvision"):
        opened(folder).load()


def test_nan_log_likelihoods_are_a_failure(checkpoint: Folder) -> None:
    import torch

    model = opened(checkpoint("llama"))
    with torch.no_grad():
        model.load().model.lm_head.weight.fill_(float("nan"))
    [output] = model.answer_batch([rank("red?", ("yes", "no"))])
    assert isinstance(output, Failure)
    assert output.kind == "nan"


def test_a_ranking_that_cannot_be_done_fails_alone(checkpoint: Folder) -> None:
    model = opened(checkpoint("llava"))
    outputs = model.answer_batch([rank("red?", ()), rank("red?", ("yes", "no"))])
    assert isinstance(outputs[0], Failure)
    assert isinstance(outputs[1], Ranked)


def test_threads_are_each_models_own(checkpoint: Folder) -> None:
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(2)
    small, wide = opened(checkpoint("llava")), opened(checkpoint("llava"), threads="2")
    small.answer_batch([ask("red?")])
    assert torch.get_num_threads() == 1, "too small to share out"
    wide.answer_batch([ask("red?")])
    assert torch.get_num_threads() == 2
    torch.set_num_threads(before)
