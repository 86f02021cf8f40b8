"""Checkpoints of Qwen's Omni models hold a part that writes and one that speaks."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from family_parts import Family
from family_reading import omni, omni3
from questions_for_models import ask, noise
from safetensors.torch import load_file, save_file

from snellen.core.output import Generated
from snellen.core.request import Generation
from snellen.models.naming.registry import open_model

SHORT = Generation(max_new_tokens=6)


@pytest.mark.parametrize(
    ("type", "architecture", "family"),
    [
        ("qwen2_5_omni", "Qwen2_5OmniForConditionalGeneration", Family("Qwen2.5-Omni", omni, since=(5, 23))),
        ("qwen3_omni_moe", "Qwen3OmniMoeForConditionalGeneration", Family("Qwen3-Omni", omni3, since=(5, 23))),
    ],
)
def test_a_whole_checkpoint_answers_as_its_thinker(
    type: str, architecture: str, family: Family, tmp_path: Path
) -> None:
    thinker = family.build(tmp_path / "thinker")
    whole = tmp_path / "whole"
    shutil.copytree(thinker, whole)
    weights = load_file(whole / "model.safetensors")
    renamed = {f"thinker.{name}": tensor for name, tensor in weights.items()}
    save_file(renamed, whole / "model.safetensors", metadata={"format": "pt"})
    config = {
        "model_type": type,
        "architectures": [architecture],
        "enable_audio_output": False,
        "thinker_config": json.loads((whole / "config.json").read_text(encoding="utf-8")),
    }
    (whole / "config.json").write_text(json.dumps(config), encoding="utf-8")
    replies = []
    for folder in (thinker, whole):
        model = open_model(f"hf/{folder}", {"device": "cpu", "dtype": "float32"})
        requests = [ask("What is it?", noise(1), settings=SHORT), ask("Hello", settings=SHORT)]
        outputs = model.answer_batch(requests)  # type: ignore[attr-defined]
        replies.append([output.text for output in outputs if isinstance(output, Generated)])
    assert len(replies[0]) == 2
    assert replies[0] == replies[1]
