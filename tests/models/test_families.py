"""Each family of transformers, built tiny, through the hf backend: see family_trial.py."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import transformers
from family_parts import TORCHVISION, Made
from family_table import FAMILIES, LEFT_OUT, WHERE, described, recorded, skipped
from family_tiled import gemma3
from family_trial import answered, opened, questions, same, try_out

from snellen.core.errors import UsageError

USUAL = {
    "Gemma 3",
    "GLM-4.5V",
    "Idefics3",
    "InternVL3",
    "Kimi-K2.5",
    "LLaVA-1.5",
    "LLaVA-NeXT",
    "LLaVA-OneVision",
    "Mistral 3",
    "PaddleOCR-VL",
    "Qwen2.5-VL",
    "Qwen3-VL",
    "Qwen3-VL MoE",
    "Qwen3.5",
    "SmolVLM",
}
"""One of every manner of tiling, positions and caches; a release tries all families."""


# Processors of some families give torch tensors to numpy in a way that numpy is leaving behind.
@pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")
@pytest.mark.filterwarnings("ignore:`past_key_values` is deprecated:FutureWarning")  # BLIP-2's own call
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=() if name in USUAL else pytest.mark.release) for name in FAMILIES]
)
def test_a_family(name: str, tmp_path: Path) -> None:
    family = FAMILIES[name]
    reason = skipped(family)
    if reason is not None:
        pytest.skip(reason)
    known = recorded().get(name, {})
    ran = known.pop("ran", ())
    try:
        trial = try_out(family, tmp_path / "model")
    except (UsageError, ImportError) as error:
        if TORCHVISION or WHERE in ran:
            raise
        pytest.skip(f"transformers {transformers.__version__} without torchvision: {error}")
    assert described(family, trial) == known, "run python tests/models/family_table.py"


def test_every_family_was_run_somewhere() -> None:
    record = recorded()
    assert set(record) == set(FAMILIES)
    for name, entry in record.items():
        assert entry["ran"], name
        for where in entry["ran"]:
            assert not FAMILIES[name].torchvision or where.endswith("with torchvision")


def test_every_architecture_is_tried_or_listed() -> None:
    """Of the versions of transformers that families are tried with."""
    from transformers.models.auto.modeling_auto import MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING_NAMES as KNOWN

    record, left_out = recorded(), json.loads(LEFT_OUT.read_text(encoding="utf-8"))
    tried = {entry["model_type"] for entry in record.values()}
    assert not tried & left_out.keys()
    assert all(left_out.values())
    if any(WHERE in entry["ran"] for entry in record.values()):
        assert set(KNOWN) <= tried | left_out.keys()


@pytest.mark.skipif(TORCHVISION, reason="torchvision works here")
@pytest.mark.parametrize("name", ["Qwen2-VL", "InternVL3", "SmolVLM"])
def test_without_torchvision_the_part_for_videos_is_left_out(name: str, tmp_path: Path) -> None:
    """The folder names it, as its makers' do, and AutoProcessor alone refuses the folder."""
    folder = FAMILIES[name].build(tmp_path / "model")
    described_parts = (folder / "processor_config.json").read_text()
    assert "VideoProcessor" in described_parts
    with pytest.raises((ImportError, AttributeError, ValueError, TypeError, OSError)):
        transformers.AutoProcessor.from_pretrained(folder)
    assert opened(folder).load().processor.video_processor is None


def test_a_sliding_window_changes_no_answer(tmp_path: Path) -> None:
    """Prompts longer than the window of attention are not put together from kept beginnings."""

    def narrow() -> Made:
        made = gemma3()
        made.model.config.text_config.sliding_window = 48
        return made

    family = FAMILIES["Gemma 3"]._replace(make=narrow)
    folder = family.build(tmp_path / "model")
    apart, shared = opened(folder, sharing="off"), opened(folder)
    assert apart.load().model.config.get_text_config().sliding_window == 48
    asked = [*questions(family), *questions(family)]
    plain = answered(apart.answer_batch(asked))
    for _ in range(2):
        same(answered(shared.answer_batch(asked)), plain, "the window changed an answer")
    assert shared.remarks == ()
