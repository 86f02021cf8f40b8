"""Sampled frames as one video: the medium, how a benchmark hands it over, and what processors of
families make of its times."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest
from family_further import FAMILIES as FURTHER
from family_llava_like import FAMILIES as LLAVAS
from family_parts import TORCHVISION
from family_qwen_like import FAMILIES as QWENS
from family_tiled import FAMILIES as TILED
from family_trial import opened
from PIL import Image
from questions_for_models import about, clip, noise

from snellen.core.errors import MediaError
from snellen.core.media import Clip, InlineSource, decode_clip, encode_clip
from snellen.core.output import Failure, Generated, Ranked
from snellen.models.hf.checkpoint import find_checkpoint
from snellen.models.split_batch import Unsupported
from snellen.models.video_frames import load_frames

FAMILIES = {family.name: family for family in (*QWENS, *LLAVAS, *FURTHER, *TILED)}
SIGNS = {
    "Qwen2-VL": "<|vision_start|><|video_pad|><|vision_end|>",
    "Qwen2.5-VL": "<|vision_start|><|video_pad|><|vision_end|>",
    "Qwen3-VL": "<|vision_start|><|video_pad|><|vision_end|>",
    "LLaVA-OneVision": "<video>",
    "LLaVA-NeXT-Video": "<video>",
    "InternVL3": "<video>",
    "SmolVLM": "<video>",
}
"""What the families' own chat templates write for a video."""


def test_the_medium_keeps_frames_and_times() -> None:
    data = clip(1, 2, 3, 4)
    read = decode_clip(data)
    assert read is not None
    assert read.times == (0.0, 0.5, 1.0, 1.5)
    assert read.duration == 2.0
    assert read.frames == tuple(noise(seed, 64, 48) for seed in (1, 2, 3, 4))
    assert Clip((b"one",), (3.0,)).duration == 1.0
    assert decode_clip(b"\0\0\0\x18ftypmp42") is None
    with pytest.raises(MediaError, match="cannot be read"):
        decode_clip(data[:20])
    with pytest.raises(MediaError, match="time each"):
        decode_clip(encode_clip(Clip((b"one",), ())))


def test_frames_for_a_processor() -> None:
    data = clip(1, 2, 3, 4)
    frames = load_frames("a", {"a": InlineSource(data)})
    assert frames.pixels().shape == (4, 48, 64, 3)
    metadata = frames.metadata()
    seconds = [index / metadata["fps"] for index in metadata["frames_indices"]]
    assert seconds == [0.0, 0.5, 1.0, 1.5]
    sampled = len(seconds) / metadata["total_num_frames"] * metadata["fps"]
    assert (sampled, metadata["duration"]) == (2.0, 2.0)
    with pytest.raises(Unsupported, match="video=clip"):
        load_frames("a", {"a": InlineSource(b"\0\0\0\x18ftypmp42")})
    with pytest.raises(MediaError, match="did not come"):
        load_frames("b", {})
    mixed = encode_clip(Clip((noise(1), noise(2, 20, 20)), (0.0, 1.0)))
    with pytest.raises(MediaError, match="unlike size"):
        load_frames("a", {"a": InlineSource(mixed)})


def with_videos(name: str, folder: Path) -> Path:
    """A family's checkpoint whose template writes videos too, and whose part for videos fits its
    small pictures."""
    family = FAMILIES[name]
    built = family.build(folder)
    template = built / "chat_template.jinja"
    text = template.read_text()
    branch = "{%- else -%}{{ c['text'] }}"
    assert branch in text
    video = "{%- elif c['type'] == 'video' -%}" + SIGNS[name]
    template.write_text(text.replace(branch, video + branch))
    described = built / "processor_config.json"
    settings = json.loads(described.read_text())
    film, still = settings["video_processor"], settings["image_processor"]
    film |= {key: still[key] for key in ("patch_size", "merge_size", "crop_size") if key in still}
    if "Qwen" in name:
        film["size"] = {"shortest_edge": 4 * 16 * 16, "longest_edge": 4 * 64 * 64}
    elif name == "SmolVLM":
        film |= {"size": {"longest_edge": 32}, "max_image_size": {"longest_edge": 32}}
    elif "size" in still:
        film["size"] = still["size"]
    described.write_text(json.dumps(settings))
    return built


@pytest.mark.release
@pytest.mark.skipif(not TORCHVISION, reason="its processor needs torchvision")
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", SIGNS)
def test_a_family_sees_one_video(name: str, tmp_path: Path) -> None:
    folder = with_videos(name, tmp_path / "model")
    assert find_checkpoint(str(folder)).capabilities("native").clips
    model = opened(folder, sharing="off")
    asked = [
        about(clip(1, 2, 3, 4)),
        about(clip(4, 3, 2, 1)),
        about(clip(1, 2, 3, 4), "Is it night or day in the last picture?"),
        about(clip(1, 2, 3, 4), candidates=("red", "a dark green square")),
        about(clip(4, 3, 2, 1), candidates=("red", "a dark green square")),
    ]
    together = model.answer_batch(asked)
    alone = [model.answer_batch([one])[0] for one in asked]
    for one, other in zip(together, alone, strict=True):
        assert not isinstance(one, Failure), one
        if isinstance(one, Generated):
            assert isinstance(other, Generated)
            assert one.text == other.text
        else:
            assert isinstance(one, Ranked)
            assert isinstance(other, Ranked)
            assert [score.logprob for score in one.candidates] == pytest.approx(
                [score.logprob for score in other.candidates], abs=2e-3
            )
    forward, backward = together[3], together[4]
    assert isinstance(forward, Ranked)
    assert isinstance(backward, Ranked)
    assert forward.candidates != backward.candidates, "the order of the frames does not matter"


@pytest.mark.release
@pytest.mark.skipif(not TORCHVISION, reason="its processor needs torchvision")
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ["Qwen2.5-VL", "Qwen3-VL"])
def test_the_times_reach_the_model(name: str, tmp_path: Path) -> None:
    """Of the same frames, at another distance in time: as positions (Qwen2.5-VL) or in words."""
    model = opened(with_videos(name, tmp_path / "model"), sharing="off")
    candidates = ("red", "a dark green square")
    scores = [
        model.answer_batch([about(clip(1, 2, 3, 4, distance=distance), candidates=candidates)])[0]
        for distance in (0.5, 4.0)
    ]
    assert all(isinstance(output, Ranked) for output in scores), scores
    assert scores[0] != scores[1]


def test_without_torchvision_the_checkpoint_takes_no_clips(tmp_path: Path) -> None:
    checkpoint = find_checkpoint(str(FAMILIES["Qwen2-VL"].build(tmp_path / "model")))
    assert checkpoint.takes_videos
    assert checkpoint.capabilities("native").clips is TORCHVISION
    assert not checkpoint.capabilities("first").clips
    if not TORCHVISION:
        (output,) = opened(tmp_path / "model").answer_batch([about(clip(1, 2))])
        assert isinstance(output, Failure)
        assert output.kind == "unsupported"


def test_frames_of_a_broken_clip_fail_alone() -> None:
    image = io.BytesIO()
    Image.new("RGB", (8, 8)).save(image, "PNG")
    broken = encode_clip(Clip((image.getvalue(), b"none"), (0.0, 1.0)))
    with pytest.raises(MediaError):
        load_frames("a", {"a": InlineSource(broken)})
