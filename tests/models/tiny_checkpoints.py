"""Small random-weight checkpoints of real architectures, as `save_pretrained` writes them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import (
    Idefics3Config,
    Idefics3ForConditionalGeneration,
    Idefics3Processor,
    LlamaConfig,
    LlamaForCausalLM,
    LlavaConfig,
    LlavaForConditionalGeneration,
    LlavaProcessor,
    PreTrainedTokenizerFast,
    SiglipVisionConfig,
)
from transformers.models.idefics3 import Idefics3ImageProcessorPil
from transformers.models.siglip import SiglipImageProcessorPil

SPECIALS = [
    "<pad>",
    "<|end|>",
    "<|user|>",
    "<|assistant|>",
    "<|system|>",
    "<image>",
    "<fake_token_around_image>",
    "<global-img>",
    "<end_of_utterance>",
]
TEMPLATE = (
    "{%- for m in messages -%}<|{{ m['role'] }}|>{%- if m['content'] is string -%}"
    "{{ m['content'] }}{%- else -%}{%- for c in m['content'] -%}{%- if c['type'] == 'image' -%}"
    "<image>{%- else -%}{{ c['text'] }}{%- endif -%}{%- endfor -%}{%- endif -%}<|end|>"
    "{%- endfor -%}{%- if add_generation_prompt -%}<|assistant|>{%- endif -%}"
)
CORPUS = [
    "What color is the circle in the picture? Answer with one word.",
    "Which option is right? A. red B. green C. blue D. yellow",
    "Is there a red square above the blue star? Please answer yes or no.",
]


def tokenizer() -> PreTrainedTokenizerFast:
    bpe = Tokenizer(models.BPE())
    bpe.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    bpe.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=400,
        special_tokens=SPECIALS,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    bpe.train_from_iterator(CORPUS, trainer)
    return PreTrainedTokenizerFast(
        tokenizer_object=bpe,
        pad_token="<pad>",
        eos_token="<|end|>",
        additional_special_tokens=SPECIALS[2:],
        chat_template=TEMPLATE,
    )


def text_config(words: Any, **changes: Any) -> LlamaConfig:
    settings: dict[str, Any] = {
        "vocab_size": len(words),
        "hidden_size": 32,
        "intermediate_size": 48,
        "num_hidden_layers": 2,
        "num_attention_heads": 2,
        "max_position_embeddings": 512,
        "initializer_range": 0.4,
        "pad_token_id": words.pad_token_id,
        "eos_token_id": words.eos_token_id,
        "bos_token_id": None,
        "tie_word_embeddings": False,
    }
    return LlamaConfig(**settings | changes)


def vision_config(size: int, **changes: Any) -> SiglipVisionConfig:
    return SiglipVisionConfig(
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=48,
        image_size=size,
        patch_size=8,
        initializer_range=0.3,
        **changes,
    )


def llava(folder: Path, seed: int = 0) -> Path:
    words = tokenizer()
    config = LlavaConfig(
        vision_config=vision_config(32, vision_use_head=False),
        text_config=text_config(words),
        image_token_id=words.convert_tokens_to_ids("<image>"),
        vision_feature_layer=-1,
        vision_feature_select_strategy="full",
        image_seq_length=16,
    )
    torch.manual_seed(seed)
    model = LlavaForConditionalGeneration(config)
    model.save_pretrained(folder)
    LlavaProcessor(
        SiglipImageProcessorPil(size={"height": 32, "width": 32}),
        words,
        patch_size=8,
        vision_feature_select_strategy="full",
        chat_template=TEMPLATE,
    ).save_pretrained(folder)
    return folder


def idefics3(folder: Path) -> Path:
    words = tokenizer()
    vision = vision_config(32).to_dict() | {"model_type": "idefics3_vision"}
    config = Idefics3Config(
        vision_config=vision,
        text_config=text_config(words).to_dict(),
        image_token_id=words.convert_tokens_to_ids("<image>"),
        scale_factor=2,
        pad_token_id=words.pad_token_id,
        tie_word_embeddings=False,
    )
    torch.manual_seed(1)
    Idefics3ForConditionalGeneration(config).save_pretrained(folder)
    Idefics3Processor(
        Idefics3ImageProcessorPil(
            size={"longest_edge": 32}, max_image_size={"longest_edge": 32}, do_image_splitting=False
        ),
        words,
        image_seq_len=4,
        chat_template=TEMPLATE,
    ).save_pretrained(folder)
    return folder


def llama(folder: Path) -> Path:
    words = tokenizer()
    torch.manual_seed(2)
    LlamaForCausalLM(text_config(words)).save_pretrained(folder)
    words.save_pretrained(folder)
    return folder
