"""Small random checkpoints with code of their own, in the layout of the original repositories."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import torch
from tiny_checkpoints import tokenizer
from transformers import AutoConfig, AutoModel, AutoModelForCausalLM, PreTrainedTokenizerFast

from snellen.models.hf.checkpoint import find_checkpoint
from snellen.models.hf.model import open_checkpoint
from snellen.models.hf.own_code.model import OwnCodeModel, open_own_code

CODE = Path(__file__).with_name("own_code")
CHATML = (
    "{% for m in messages %}<|im_start|>{{ m['role'] }}\n{{ m['content'] }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
PARTS = (
    "{% for m in messages %}<|im_start|>{{ m['role'] }}\n{% if m['content'] is string %}"
    "{{ m['content'] }}{% else %}{% for part in m['content'] %}{% if part['type'] == 'image' %}"
    "PICTURE\n{% else %}{{ part['text'] }}{% endif %}{% endfor %}{% endif %}<|im_end|>\n"
    "{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n"
    "{% if enable_thinking %}<think>\n{% endif %}{% endif %}"
)
"""A chat template for messages of parts, with PICTURE where a picture stands."""


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


def _write(folder: Path, code: str, config: Mapping[str, Any], seed: int, auto: Any = AutoModel) -> None:
    """The code, the configuration and random weights, saved by that code."""
    for path in (CODE / code).glob("*.py"):
        shutil.copy(path, folder)
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
    torch.manual_seed(seed)
    settings = AutoConfig.from_pretrained(folder, trust_remote_code=True)
    auto.from_config(settings, trust_remote_code=True).save_pretrained(folder)
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


def _ovis(folder: Path, words: PreTrainedTokenizerFast, code: str, formatter: str) -> Path:
    words.save_pretrained(folder)
    config = {
        "architectures": ["Ovis"],
        "auto_map": {"AutoConfig": "configuration_ovis.OvisConfig", "AutoModelForCausalLM": "modeling_ovis.Ovis"},
        "model_type": "ovis",
        "conversation_formatter_class": formatter,
        "hidden_size": 32,
        "llm_config": {**_language(words), "model_type": "qwen2"},
        "visual_tokenizer_config": {"image_size": 28, "vocab_size": 64},
        "torch_dtype": "float32",
    }
    _write(folder, code, config, 5, AutoModelForCausalLM)
    return folder


def ovis(folder: Path) -> Path:
    """Ovis 1.6 and 2, original layout: a tokenizer alone, `preprocess_inputs` cuts pictures."""
    return _ovis(folder, _words(), "ovis", "QwenConversationFormatter")


def ovis1_5(folder: Path) -> Path:
    """Ovis 1.5: the conversation formatter and the visual tokenizer are called one by one."""
    return _ovis(folder, tokenizer(), "ovis1_5", "Llama3ConversationFormatter")


def ovis2_5(folder: Path) -> Path:
    """Ovis 2.5: `preprocess_inputs` takes messages of parts."""
    words = _words()
    words.chat_template = PARTS.replace("PICTURE", "<image>")
    words.save_pretrained(folder)
    config = {
        "architectures": ["Ovis2_5"],
        "auto_map": {
            "AutoConfig": "configuration_ovis2_5.Ovis2_5_Config",
            "AutoModelForCausalLM": "modeling_ovis2_5.Ovis2_5",
        },
        "model_type": "ovis2_5",
        "hidden_size": 32,
        "llm_config": {**_language(words), "model_type": "qwen2"},
        "vit_config": {"patch_size": 14},
        "visual_vocab_size": 64,
        "torch_dtype": "float32",
    }
    _write(folder, "ovis2_5", config, 6, AutoModelForCausalLM)
    return folder


def _processed(
    folder: Path, words: PreTrainedTokenizerFast, code: str, names: Mapping[str, str], **config: Any
) -> Path:
    """A checkpoint with a processor: `names` are the classes of its parts, with their files."""
    words.save_pretrained(folder)
    parts = {"AutoProcessor": names["processor"], "AutoImageProcessor": names["images"]}
    preprocessor = {
        "image_processor_type": names["images"].rpartition(".")[2],
        "processor_class": names["processor"].rpartition(".")[2],
        "auto_map": parts,
    }
    (folder / "preprocessor_config.json").write_text(json.dumps(preprocessor), encoding="utf-8")
    whole = {
        **_language(words),
        "architectures": [names["model"].rpartition(".")[2]],
        "auto_map": {"AutoConfig": names["config"], "AutoModelForCausalLM": names["model"]},
        "torch_dtype": "float32",
        **config,
    }
    _write(folder, code, whole, 7, AutoModelForCausalLM)
    return folder


def phi3_v(folder: Path) -> Path:
    """Phi-3.5-Vision: numbered marks of pictures, the chat template with the tokenizer."""
    names = {
        "config": "configuration_phi3_v.Phi3VConfig",
        "model": "modeling_phi3_v.Phi3VForCausalLM",
        "processor": "processing_phi3_v.Phi3VProcessor",
        "images": "processing_phi3_v.Phi3VImageProcessor",
    }
    return _processed(folder, _words(), "phi3_v", names, model_type="phi3_v")


def kimi_vl(folder: Path) -> Path:
    """Kimi-VL: messages of parts, the chat template with the processor."""
    names = {
        "config": "configuration_kimi_vl.KimiVLConfig",
        "model": "modeling_kimi_vl.KimiVLForConditionalGeneration",
        "processor": "processing_kimi_vl.KimiVLProcessor",
        "images": "image_processing_kimi_vl.KimiVLImageProcessor",
    }
    words = _words("<|media_start|>", "<|media_content|>", "<|media_pad|>", "<|media_end|>")
    words.chat_template = PARTS.replace("PICTURE", "<|media_start|>image<|media_content|><|media_pad|><|media_end|>")
    media = words.convert_tokens_to_ids("<|media_pad|>")
    return _processed(folder, words, "kimi_vl", names, model_type="kimi_vl", media_placeholder_token_id=media)


def molmo(folder: Path) -> Path:
    """Molmo: `process` of its processor, `generate_from_batch` of its model."""
    names = {
        "config": "config_molmo.MolmoConfig",
        "model": "modeling_molmo.MolmoForCausalLM",
        "processor": "preprocessing_molmo.MolmoProcessor",
        "images": "image_preprocessing_molmo.MolmoImageProcessor",
    }
    words = _words("<im_patch>", "<im_start>", "<im_end>", "<im_col>", "<|endoftext|>")
    words.eos_token = "<|endoftext|>"
    return _processed(folder, words, "molmo", names, model_type="molmo")


def ovis_u1(folder: Path) -> Path:
    """Ovis-U1: `preprocess_inputs` returns the grids of the pictures too."""
    words = _words()
    words.save_pretrained(folder)
    config = {
        "architectures": ["OvisU1"],
        "auto_map": {
            "AutoConfig": "configuration_ovis_u1.OvisU1Config",
            "AutoModelForCausalLM": "modeling_ovis_u1.OvisU1",
        },
        "model_type": "ovis_u1",
        "hidden_size": 32,
        "llm_config": {**_language(words), "model_type": "qwen2"},
        "visual_tokenizer_config": {"patch_size": 14},
        "torch_dtype": "float32",
    }
    _write(folder, "ovis_u1", config, 8, AutoModelForCausalLM)
    return folder


def valley(folder: Path) -> Path:
    """Valley2: a processor without an image processor, which takes a dict."""
    words = _words()
    words.save_pretrained(folder)
    preprocessor = {
        "processor_class": "ValleyProcessor",
        "auto_map": {"AutoProcessor": "processing_valley.ValleyProcessor"},
    }
    (folder / "preprocessor_config.json").write_text(json.dumps(preprocessor), encoding="utf-8")
    config = {
        **_language(words),
        "architectures": ["ValleyQwen2ForCausalLM"],
        "auto_map": {
            "AutoConfig": "modeling_valley.ValleyConfig",
            "AutoModel": "modeling_valley.ValleyQwen2ForCausalLM",
            "AutoModelForCausalLM": "modeling_valley.ValleyQwen2ForCausalLM",
        },
        "model_type": "valley",
        "torch_dtype": "float32",
    }
    _write(folder, "valley", config, 9, AutoModel)
    return folder


BUILDERS: dict[str, Callable[[Path], Path]] = {
    "internvl_chat": internvl,
    "kimi_vl": kimi_vl,
    "minicpmv": minicpmv,
    "molmo": molmo,
    "ovis": ovis,
    "ovis1_5": ovis1_5,
    "ovis2_5": ovis2_5,
    "ovis_u1": ovis_u1,
    "phi3_v": phi3_v,
    "valley": valley,
}
"""Builders of a small checkpoint by the name of its adapter."""


def open_adapter(adapter: str, folder: Path, **options: str) -> OwnCodeModel:
    """A small checkpoint as its adapter asks it: its code runs here, where that of the original
    may need an older transformers, for which opening it by its name would be refused."""
    values = {"trust_remote_code": "yes", "device": "cpu", "dtype": "float32"} | options
    checkpoint = find_checkpoint(str(folder), None)
    loading = open_checkpoint(checkpoint, "hf", checkpoint.name, values).load_options
    return open_own_code(checkpoint, loading, "hf", adapter, values)
