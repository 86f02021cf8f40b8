"""Small random checkpoints with code of their own, in the layout of the original repositories."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import torch
from tiny_checkpoints import tokenizer
from transformers import AutoConfig, AutoModel, PreTrainedTokenizerFast

CODE = Path(__file__).with_name("own_code")
CHATML = (
    "{% for m in messages %}<|im_start|>{{ m['role'] }}\n{{ m['content'] }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)


def _words(*specials: str) -> PreTrainedTokenizerFast:
    words = tokenizer()
    added = ["<|im_start|>", "<|im_end|>", *specials]
    words.add_special_tokens({"additional_special_tokens": added})
    words.chat_template = CHATML
    words.eos_token = "<|im_end|>"
    return words


def _language(words: PreTrainedTokenizerFast) -> dict[str, Any]:
    return {
        "vocab_size": len(words),
        "hidden_size": 32,
        "intermediate_size": 48,
        "num_hidden_layers": 2,
        "num_attention_heads": 2,
        "num_key_value_heads": 2,
        "max_position_embeddings": 4096,
        "initializer_range": 0.4,
        "tie_word_embeddings": False,
    }


def _write(folder: Path, code: str, config: Mapping[str, Any], seed: int) -> None:
    """The code, the configuration and random weights, saved by that code."""
    for path in (CODE / code).glob("*.py"):
        shutil.copy(path, folder)
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
    torch.manual_seed(seed)
    settings = AutoConfig.from_pretrained(folder, trust_remote_code=True)
    AutoModel.from_config(settings, trust_remote_code=True).save_pretrained(folder)
    # As in the original repositories; what was saved names this folder in its auto_map.
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")


def internvl(folder: Path) -> Path:
    """InternVL-Chat, original layout: tokenizer alone, `chat` with tiles of pictures."""
    words = _words("<img>", "</img>", "<IMG_CONTEXT>")
    words.save_pretrained(folder)
    preprocessor = {"image_processor_type": "CLIPImageProcessor", "size": 28}
    (folder / "preprocessor_config.json").write_text(json.dumps(preprocessor), encoding="utf-8")
    config = {
        "architectures": ["InternVLChatModel"],
        "auto_map": {
            "AutoConfig": "configuration_internvl_chat.InternVLChatConfig",
            "AutoModel": "modeling_internvl_chat.InternVLChatModel",
            "AutoModelForCausalLM": "modeling_internvl_chat.InternVLChatModel",
        },
        "model_type": "internvl_chat",
        "llm_config": {**_language(words), "architectures": ["Qwen2ForCausalLM"]},
        "vision_config": {"image_size": 28, "patch_size": 7},
        "force_image_size": 28,
        "max_dynamic_patch": 6,
        "torch_dtype": "float32",
    }
    _write(folder, "internvl", config, 3)
    return folder


def minicpmv(folder: Path) -> Path:
    """MiniCPM-V, original layout: a processor of its own, `chat` with messages of pictures."""
    words = _words("<unk>", "<image>", "</image>")
    words.save_pretrained(folder)
    preprocessor = {
        "image_processor_type": "MiniCPMVImageProcessor",
        "processor_class": "MiniCPMVProcessor",
        "auto_map": {
            "AutoProcessor": "processing_minicpmv.MiniCPMVProcessor",
            "AutoImageProcessor": "image_processing_minicpmv.MiniCPMVImageProcessor",
        },
        "max_slice_nums": 9,
        "image_feature_size": 4,
        "patch_size": 14,
    }
    (folder / "preprocessor_config.json").write_text(json.dumps(preprocessor), encoding="utf-8")
    config = {
        **_language(words),
        "architectures": ["MiniCPMV"],
        "auto_map": {
            "AutoConfig": "configuration_minicpm.MiniCPMVConfig",
            "AutoModel": "modeling_minicpmv.MiniCPMV",
            "AutoModelForCausalLM": "modeling_minicpmv.MiniCPMV",
        },
        "model_type": "minicpmv",
        "query_num": 4,
        "patch_size": 14,
        "vision_config": {"patch_size": 14},
        "torch_dtype": "float32",
    }
    _write(folder, "minicpmv", config, 4)
    return folder


BUILDERS: dict[str, Callable[[Path], Path]] = {"internvl_chat": internvl, "minicpmv": minicpmv}
"""Builders of a small checkpoint by the name of its adapter."""
