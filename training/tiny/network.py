"""The architecture: a stock LLaVA, SigLIP eyes and Llama words, 1.7 M parameters."""

from __future__ import annotations

import json
import math
from pathlib import Path

import torch
from torch import nn
from transformers import (
    LlamaConfig,
    LlavaConfig,
    LlavaForConditionalGeneration,
    LlavaProcessor,
    PreTrainedTokenizerFast,
    SiglipVisionConfig,
)
from transformers.models.siglip import SiglipImageProcessorPil

from training.tiny.wordpieces import CHAT_TEMPLATE, IMAGE

IMAGE_SIDE = 64
PATCH = 8
PATCHES = (IMAGE_SIDE // PATCH) ** 2
WIDTH = 128
HEADS = 4
THETA = 10_000.0
SPREAD = 0.06
EMBEDDING_SPREAD = 0.3
FAST = 5


def new_network(tokenizer: PreTrainedTokenizerFast, text_layers: int = 4) -> nn.Module:
    """A randomly initialised model whose first text layers start with planted look-up heads."""
    vision = SiglipVisionConfig(
        hidden_size=WIDTH,
        intermediate_size=3 * WIDTH,
        num_hidden_layers=4,
        num_attention_heads=HEADS,
        image_size=IMAGE_SIDE,
        patch_size=PATCH,
        vision_use_head=False,
        hidden_act="gelu_pytorch_tanh",
        initializer_range=SPREAD,
    )
    text = LlamaConfig(
        vocab_size=len(tokenizer),
        hidden_size=WIDTH,
        intermediate_size=3 * WIDTH,
        num_hidden_layers=text_layers,
        num_attention_heads=HEADS,
        num_key_value_heads=HEADS,
        attention_bias=True,
        initializer_range=SPREAD,
        tie_word_embeddings=True,
        rope_parameters={"rope_type": "default", "rope_theta": THETA},
        max_position_embeddings=4096,
        bos_token_id=None,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
    )
    config = LlavaConfig(
        vision_config=vision,
        text_config=text,
        image_token_id=tokenizer.convert_tokens_to_ids(IMAGE),
        vision_feature_layer=-1,
        vision_feature_select_strategy="full",
        image_seq_length=PATCHES,
        tie_word_embeddings=True,
    )
    model = LlavaForConditionalGeneration(config)
    model.generation_config.eos_token_id = tokenizer.eos_token_id
    model.generation_config.pad_token_id = tokenizer.pad_token_id
    _plant_heads(model)
    return model


def new_processor(tokenizer: PreTrainedTokenizerFast) -> LlavaProcessor:
    """Pictures to 64 pixels, text by the chat template; needs no torchvision."""
    side = {"height": IMAGE_SIDE, "width": IMAGE_SIDE}
    return LlavaProcessor(
        image_processor=SiglipImageProcessorPil(size=side, resample=2),
        tokenizer=tokenizer,
        patch_size=PATCH,
        vision_feature_select_strategy="full",
        chat_template=CHAT_TEMPLATE,
        image_token=IMAGE,
        num_additional_image_tokens=0,
    )


def save(model: LlavaForConditionalGeneration, processor: LlavaProcessor, folder: Path) -> None:
    """Half-precision files whose config says float32, so that plain `from_pretrained` runs fp32."""
    folder.mkdir(parents=True, exist_ok=True)
    state = {name: value.detach().half() for name, value in model.state_dict().items()}
    del state["lm_head.weight"]  # tied to the embeddings
    model.save_pretrained(folder, state_dict=state)
    for file in folder.iterdir():
        file.chmod(0o644)
    processor.save_pretrained(folder)
    path = folder / "config.json"
    config = json.loads(path.read_text("utf-8"))
    config["dtype"] = "float32"
    for part in ("text_config", "vision_config"):
        config[part].pop("dtype", None)
    path.write_text(json.dumps(config, indent=2, sort_keys=True) + "\n", "utf-8")


def count_parameters(model: nn.Module) -> int:
    """Parameters, tied ones once."""
    return sum(parameter.numel() for parameter in model.parameters())


def _plant_heads(model: LlavaForConditionalGeneration) -> None:
    """A start from which looking things up in a list is learnt in about a hundred steps.

    Layer 0: heads 0, 1 and 2 look one, two and three tokens back (by the biases) and copy what
    stands there into a subspace of their own. Layer 1: the same heads look for tokens that are
    themselves what was copied ("which line of the list says red?"). Larger embeddings and smaller
    feed-forward outputs keep the copies readable. In one short trial of a plain start the loss
    stayed flat for 450 steps. Only the slow rotary frequencies take part in matching, so distance
    hardly matters.
    """
    layers = model.model.language_model.layers
    size = WIDTH // HEADS
    keep = torch.tensor([1.5 * (i % (size // 2) > FAST) for i in range(size)])[:, None]
    with torch.no_grad():
        model.get_input_embeddings().weight.mul_(EMBEDDING_SPREAD / SPREAD)
        for layer in layers:
            layer.mlp.down_proj.weight.mul_(0.3)
        for head in range(3):
            rows = slice(head * size, (head + 1) * size)
            basis = torch.linalg.qr(torch.randn(WIDTH, 2 * size))[0].T
            own, copied = basis[:size], basis[size:]
            _look_back(layers[0].self_attn, head, back=head + 1)
            layers[0].self_attn.v_proj.weight[rows] = own
            layers[0].self_attn.o_proj.weight[:, rows] = 0.5 * copied.T
            match = layers[1].self_attn
            match.q_proj.weight[rows] = keep * copied
            match.k_proj.weight[rows] = keep * own


def _look_back(attention: nn.Module, head: int, back: int) -> None:
    """Biases with which a head attends `back` tokens before its own."""
    size = WIDTH // HEADS
    for i in range(FAST):
        frequency = THETA ** (-2 * i / size)
        at = head * size + i
        attention.k_proj.bias[at] = 6.0
        attention.q_proj.bias[at] = 6.0 * math.cos(back * frequency)
        attention.q_proj.bias[at + size // 2] = -6.0 * math.sin(back * frequency)
