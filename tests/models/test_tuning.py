"""Low-rank tuning of several architectures: tiny checkpoints of them learn replies by heart."""

from __future__ import annotations

from pathlib import Path

import family_llava_like
import family_plain
import family_qwen_like
import family_tiled
import pytest
from family_parts import Family
from family_trial import opened, questions

from snellen.core.errors import UsageError
from snellen.core.request import Generate
from snellen.models.hf.lora import LoraOptions, TrainingExample, target_layers, tune

EVERY = [
    family for module in (family_llava_like, family_plain, family_qwen_like, family_tiled) for family in module.FAMILIES
]
REPLIES = ("A", "red square", "B", "green")


def named(name: str) -> Family:
    (family,) = [one for one in EVERY if one.name == name]
    return family


def lessons(family: Family) -> list[TrainingExample]:
    """Unlike in length, in pictures and in their number."""
    asked = [one for one in questions(family) if isinstance(one, Generate)]
    return [TrainingExample(one, reply) for one, reply in zip(asked, REPLIES, strict=False)]


@pytest.mark.parametrize("name", ["LLaVA-1.5", "Qwen2.5-VL", "Idefics3", "BLIP-2 (OPT)"])
def test_replies_are_learnt(name: str, tmp_path: Path) -> None:
    family = named(name)
    model = opened(family.build(tmp_path / "model"))
    loaded = model.load()
    how = LoraOptions(epochs=8, learning_rate=1e-2, batch_size=2)
    tuned = tune(loaded, lessons(family), how, model.images)
    assert tuned.after.loss < tuned.before.loss / 2
    assert set(tuned.factors) == set(target_layers(loaded, "language"))
    assert not any("visual" in layer or "vision" in layer for layer in tuned.factors)
    assert all(down.shape[0] == up.shape[1] == how.rank for down, up in tuned.factors.values())


def test_layers_are_chosen_by_name(tmp_path: Path) -> None:
    model = opened(named("LLaVA-1.5").build(tmp_path / "model"))
    found = target_layers(model.load(), r".*language_model.*\.q_proj")
    assert found
    assert all(name.endswith(".q_proj") for name in found)


def test_a_model_with_an_encoder_is_refused(tmp_path: Path) -> None:
    family = named("BLIP-2 (Flan-T5)")
    model = opened(family.build(tmp_path / "model"))
    with pytest.raises(UsageError, match="reads prompts with an encoder of its own"):
        tune(model.load(), lessons(family), LoraOptions())
