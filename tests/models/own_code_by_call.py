"""Small random checkpoints whose own code is asked by one call, in the layout of the originals."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

from own_code_checkpoints import BUILDERS as BUILDERS_OF_OTHERS
from own_code_checkpoints import CODE, _language, _words, _write

PICTURES = {"crop_size": 28, "size": {"shortest_edge": 28}}
"""Sizes of a small CLIPImageProcessor."""


def _internvl_like(folder: Path, code: str, changes: dict[str, str], config: dict[str, Any]) -> Path:
    """A checkpoint whose `chat` is InternVL's: its code, with other names of files and classes."""
    words = _words("<img>", "</img>", "<IMG_CONTEXT>")
    words.save_pretrained(folder)
    for path in (CODE / "internvl").glob("*.py"):
        name, text = path.name, path.read_text(encoding="utf-8")
        for old, new in changes.items():
            name, text = name.replace(old, new), text.replace(old, new)
        (folder / name).write_text(text, encoding="utf-8")
    shared = {
        "llm_config": {**_language(words), "architectures": ["Qwen2ForCausalLM"]},
        "vision_config": {"image_size": 28, "patch_size": 7},
        "force_image_size": 28,
        "torch_dtype": "float32",
    }
    _write(folder, code, shared | config, 3)
    return folder


def sail_vl(folder: Path) -> Path:
    """SAIL-VL: InternVL's `chat`, by other names of files and classes."""
    config = {
        "architectures": ["SailVLModel"],
        "auto_map": {
            "AutoConfig": "configuration_sailvl.SailVLConfig",
            "AutoModel": "modeling_sailvl.SailVLModel",
            "AutoModelForCausalLM": "modeling_sailvl.SailVLModel",
        },
        "model_type": "internvl_chat",
    }
    return _internvl_like(folder, "sail_vl", {"InternVLChat": "SailVL", "internvl_chat": "sailvl"}, config)


def ristretto(folder: Path) -> Path:
    """Ristretto: the number of a picture's tokens is an argument; SigLIP's pixels."""
    config = {
        "architectures": ["RistrettoModel"],
        "auto_map": {
            "AutoConfig": "modeling_ristretto.RistrettoConfig",
            "AutoModel": "modeling_ristretto.RistrettoModel",
            "AutoModelForCausalLM": "modeling_ristretto.RistrettoModel",
        },
        "model_type": "ristretto",
        "vision_config": {"image_size": 28, "patch_size": 7, "model_type": "siglip_vision_model"},
    }
    return _internvl_like(folder, "ristretto", {}, config)


def minimonkey(folder: Path) -> Path:
    """MiniMonkey: the grid of the tiles is an argument, and there are two grids."""
    config = {
        "architectures": ["MiniMonkeyChatModel"],
        "auto_map": {
            "AutoConfig": "modeling_minimonkey_chat.MiniMonkeyConfig",
            "AutoModel": "modeling_minimonkey_chat.MiniMonkeyChatModel",
        },
        "model_type": "minimonkey",
    }
    return _internvl_like(folder, "minimonkey", {}, config)


def _small(folder: Path, code: str, architecture: str, config_class: str, files: tuple[str, str], auto: str) -> Path:
    """A checkpoint of `small_parts`: a small Qwen2 behind four tokens a picture."""
    words = _words("<ImageHere>")
    words.save_pretrained(folder)
    shutil.copy(CODE / "parts" / "small_parts.py", folder)
    preprocessor = {"image_processor_type": "CLIPImageProcessor", **PICTURES}
    (folder / "preprocessor_config.json").write_text(json.dumps(preprocessor), encoding="utf-8")
    configuration, modeling = files
    config = {
        **_language(words),
        "architectures": [architecture],
        "auto_map": {
            "AutoConfig": f"{configuration}.{config_class}",
            "AutoModel": f"{modeling}.{architecture}",
            auto: f"{modeling}.{architecture}",
        },
        "torch_dtype": "float32",
    }
    _write(folder, code, config, 5)
    return folder


def xcomposer2(folder: Path) -> Path:
    """InternLM-XComposer2 and 2.5."""
    files = ("configuration_internlm_xcomposer2", "modeling_internlm_xcomposer2")
    return _small(
        folder, "xcomposer2", "InternLMXComposer2ForCausalLM", "InternLMXcomposer2Config", files, "AutoModelForCausalLM"
    )


def qwen_vl(folder: Path) -> Path:
    """Qwen-VL and Qwen-VL-Chat."""
    files = ("configuration_qwen", "modeling_qwen")
    return _small(folder, "qwen_vl", "QWenLMHeadModel", "QWenConfig", files, "AutoModelForCausalLM")


def h2ovl(folder: Path) -> Path:
    """H2OVL-Mississippi."""
    files = ("configuration_h2ovl_chat", "modeling_h2ovl_chat")
    return _small(folder, "h2ovl", "H2OVLChatModel", "H2OVLChatConfig", files, "AutoModel")


def points(folder: Path) -> Path:
    """POINTS."""
    files = ("configuration_points_chat", "modeling_points_chat")
    return _small(folder, "points", "POINTSChatModel", "POINTSChatConfig", files, "AutoModelForCausalLM")


def flash_vl(folder: Path) -> Path:
    """FlashVL."""
    files = ("configuration_FlashVL", "modeling_FlashVL")
    return _small(folder, "flash_vl", "FlashVLDynamicISS", "FlashVLDynamicISSConfig", files, "AutoModel")


def moondream2(folder: Path) -> Path:
    """moondream2."""
    files = ("hf_moondream", "hf_moondream")
    return _small(folder, "moondream2", "HfMoondream", "HfConfig", files, "AutoModelForCausalLM")


def tinyllava(folder: Path) -> Path:
    """TinyLLaVA."""
    files = ("configuration", "modeling_tinyllava_phi")
    return _small(
        folder, "tinyllava", "TinyLlavaForConditionalGeneration", "TinyLlavaConfig", files, "AutoModelForCausalLM"
    )


BUILDERS: dict[str, Callable[[Path], Path]] = {
    **BUILDERS_OF_OTHERS,
    "flash_vl": flash_vl,
    "h2ovl": h2ovl,
    "minimonkey": minimonkey,
    "monkey": qwen_vl,
    "moondream2": moondream2,
    "points": points,
    "qwen_vl": qwen_vl,
    "qwen_vl_chat": qwen_vl,
    "ristretto": ristretto,
    "sail_vl": sail_vl,
    "tinyllava": tinyllava,
    "xcomposer2": xcomposer2,
    "xcomposer2_4khd": xcomposer2,
    "xcomposer2d5": xcomposer2,
}
"""Builders of a small checkpoint by the name of its adapter, of all adapters that have one."""
