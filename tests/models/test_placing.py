"""LoRA adapters, quantised weights and layers spread over devices."""

from __future__ import annotations

import importlib.util
import shutil
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from questions_for_models import ask, noise, rank

from snellen.core.errors import MissingExtra, UsageError
from snellen.core.output import Generated, Ranked
from snellen.models.hf.model import HuggingFace
from snellen.models.naming.registry import open_model

Folder = Callable[[str], Path]
QUESTIONS = [
    ask("What color is it?", noise(1)),
    ask("Is there a square?"),
    rank("Which option is right?", ("red", "green", "a blue star"), noise(2)),
]


def opened(folder: Path, **options: str) -> HuggingFace:
    model = open_model(f"hf/{folder}", {"device": "cpu"} | options)
    assert isinstance(model, HuggingFace)
    return model


def answers(model: HuggingFace) -> list[Any]:
    found: list[Any] = []
    for output in model.answer_batch(QUESTIONS):
        if isinstance(output, Ranked):
            found += [one.logprob for one in output.candidates]
        else:
            assert isinstance(output, Generated), output
            found.append(output.text)
    return found


@pytest.fixture(scope="module")
def adapter(checkpoint: Folder, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two steps of training on the words of one reply."""
    from peft import LoraConfig, get_peft_model

    folder = tmp_path_factory.mktemp("adapter")
    loaded = opened(checkpoint("llava")).load()
    torch.manual_seed(0)
    config = LoraConfig(r=2, target_modules=r".*language_model.*(q_proj|v_proj|down_proj)")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what peft asks of transformers has a new name there
        pupil = get_peft_model(loaded.model, config)
    ids = loaded.tokenizer("Is there a square? yes yes yes", return_tensors="pt")["input_ids"]
    trained = [weights for weights in pupil.parameters() if weights.requires_grad]
    optimiser = torch.optim.SGD(trained, lr=0.5)
    losses = []
    for _ in range(2):
        loss = pupil(input_ids=ids, labels=ids).loss
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        losses.append(float(loss.detach()))
    assert losses[1] != losses[0]
    pupil.save_pretrained(folder)
    return folder


def test_an_adapter_changes_answers_and_identity(checkpoint: Folder, adapter: Path, tmp_path: Path) -> None:
    from peft import PeftModel

    base, tuned = opened(checkpoint("llava")), opened(checkpoint("llava"), adapter=str(adapter))
    apart = opened(checkpoint("llava"))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        beside = PeftModel.from_pretrained(apart.load().model, str(adapter))
    expected = answers(apart)
    assert beside.active_adapter == "default"
    found = answers(tuned)
    assert [one for one in found if isinstance(one, str)] == [one for one in expected if isinstance(one, str)]
    assert found[-3:] == pytest.approx(expected[-3:], abs=1e-3)
    assert answers(base)[-3:] != pytest.approx(found[-3:], abs=1e-2)
    assert base.identity != tuned.identity
    assert tuned.identity.facts["adapter"].startswith("sha256:")
    copy = Path(shutil.copytree(adapter, tmp_path / "copy"))
    again = opened(checkpoint("llava"), adapter=str(copy))
    assert again.identity == tuned.identity, "the folder's name is no part of it"


def test_adapters_that_cannot_be_used(checkpoint: Folder, adapter: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"no adapter folder \./nowhere"):
        opened(checkpoint("llava"), adapter="./nowhere")
    with pytest.raises(UsageError, match=r"no adapter_config\.json"):
        opened(checkpoint("llava"), adapter=str(checkpoint("llama")))
    torn = Path(shutil.copytree(adapter, tmp_path / "torn"))
    (torn / "adapter_model.safetensors").unlink()
    with pytest.raises(UsageError, match="holds no adapter weights"):
        opened(checkpoint("llava"), adapter=str(torn))
    with pytest.raises(UsageError, match=r"idefics3 .* cannot be loaded"):
        opened(checkpoint("idefics3"), adapter=str(adapter)).load()


def test_layers_spread_by_accelerate_answer_alike(checkpoint: Folder) -> None:
    spread = opened(checkpoint("llava"), device_map="auto")
    if torch.cuda.is_available():
        pytest.skip("auto takes the GPU, whose rounding differs")
    assert answers(spread) == answers(opened(checkpoint("llava")))
    assert spread.load().device == "cpu"


def test_quantisation_names_what_is_to_be_installed(checkpoint: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    real = importlib.util.find_spec
    absent = ("torchao", "bitsandbytes")
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name in absent else real(name))
    with pytest.raises(MissingExtra, match=r"needs torchao.*pip install 'snellen\[quantised\]'"):
        opened(checkpoint("llava"), quantisation="8bit")
    with pytest.raises(MissingExtra, match="needs bitsandbytes"):
        opened(checkpoint("llava"), quantisation="4bit")


# torch finds a way out of date in which bitsandbytes writes down one function.
@pytest.mark.filterwarnings("ignore:`torch.jit.script_method` is deprecated:DeprecationWarning")
@pytest.mark.parametrize(("bits", "kind", "off"), [("8bit", "Linear8bitLt", 1.0), ("4bit", "Linear4bit", 5.0)])
def test_weights_rounded_by_bitsandbytes(
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    capfd: pytest.CaptureFixture[str],
    bits: str,
    kind: str,
    off: float,
) -> None:
    """Of the bundled model: smaller matrices cannot be rounded to four bits."""
    real = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "torchao" else real(name))
    whole, rounded = bundled(), bundled(quantisation=bits)
    exact, found = answers(whole)[-3:], answers(rounded)[-3:]
    assert found != exact
    assert found == pytest.approx(exact, abs=off)
    assert kind in {type(module).__name__ for module in rounded.load().model.modules()}
    assert rounded.identity.facts["quantisation"] == f"bitsandbytes-{bits}"
    assert not caplog.records
    assert capfd.readouterr().err == ""


def bundled(**options: str) -> HuggingFace:
    model = open_model("snellen/tiny", {"device": "cpu"} | options)
    assert isinstance(model, HuggingFace)
    return model


@pytest.mark.skipif(importlib.util.find_spec("torchao") is None, reason="torchao is not installed")
def test_weights_rounded_by_torchao(checkpoint: Folder) -> None:
    whole, rounded = opened(checkpoint("llava")), opened(checkpoint("llava"), quantisation="8bit")
    exact, near = answers(whole)[-3:], answers(rounded)[-3:]
    assert near != exact
    assert near == pytest.approx(exact, rel=0.2)
    assert rounded.identity.facts["quantisation"] == "torchao-8bit"
