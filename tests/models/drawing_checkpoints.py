"""Small random-weight checkpoints that draw or compare pictures, as their libraries write them.

They know nothing: what is tested with them is that requests, settings and pictures go through."""

from __future__ import annotations

from pathlib import Path

import torch
from tiny_checkpoints import TEMPLATE, text_config, tokenizer
from transformers import (
    CLIPConfig,
    CLIPModel,
    CLIPTextConfig,
    CLIPTextModel,
    CLIPVisionConfig,
    JanusConfig,
    JanusForConditionalGeneration,
    JanusProcessor,
    JanusVisionConfig,
    JanusVQVAEConfig,
    PreTrainedTokenizerFast,
)
from transformers.models.clip.image_processing_pil_clip import CLIPImageProcessorPil
from transformers.models.janus.image_processing_pil_janus import JanusImageProcessorPil

TOKENS = 4
"""Tokens of a picture, shown or drawn: 2 x 2."""


def janus_tokenizer() -> PreTrainedTokenizerFast:
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer().backend_tokenizer,
        pad_token="<pad>",
        bos_token="<|begin|>",
        eos_token="<|end|>",
        extra_special_tokens={"image_token": "<image>", "boi_token": "<begin_of_image>", "eoi_token": "<end_of_image>"},
        chat_template=TEMPLATE,
    )


def janus(folder: Path) -> Path:
    words = janus_tokenizer()
    config = JanusConfig(
        text_config=text_config(words, bos_token_id=words.bos_token_id),
        vision_config=JanusVisionConfig(
            hidden_size=32,
            num_hidden_layers=2,
            num_attention_heads=2,
            image_size=16,
            patch_size=8,
            projection_dim=32,
            num_image_tokens=TOKENS,
            initializer_range=0.3,
        ),
        vq_config=JanusVQVAEConfig(
            embed_dim=8,
            num_embeddings=64,
            latent_channels=32,
            base_channels=32,
            channel_multiplier=[1, 1],
            num_res_blocks=1,
            num_patches=2,
            projection_dim=32,
            image_token_embed_dim=32,
        ),
        image_token_id=words.convert_tokens_to_ids("<image>"),
        tie_word_embeddings=False,
    )
    torch.manual_seed(3)
    model = JanusForConditionalGeneration(config)
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.ndim > 1:
                parameter.normal_(0, 0.2)
    model.generation_config.pad_token_id = words.pad_token_id
    model.save_pretrained(folder)
    JanusProcessor(
        JanusImageProcessorPil(size={"height": 16, "width": 16}, min_size=8),
        words,
        chat_template=TEMPLATE,
        num_image_tokens=TOKENS,
    ).save_pretrained(folder)
    return folder


def clip(folder: Path) -> Path:
    words = tokenizer()
    config = CLIPConfig(
        text_config=CLIPTextConfig(
            vocab_size=len(words),
            hidden_size=32,
            intermediate_size=48,
            num_hidden_layers=1,
            num_attention_heads=2,
            eos_token_id=words.eos_token_id,
            bos_token_id=None,
            pad_token_id=words.pad_token_id,
        ).to_dict(),
        vision_config=CLIPVisionConfig(
            hidden_size=32,
            intermediate_size=48,
            num_hidden_layers=2,
            num_attention_heads=2,
            image_size=32,
            patch_size=8,
            initializer_range=0.3,
        ).to_dict(),
        projection_dim=16,
    )
    torch.manual_seed(4)
    CLIPModel(config).save_pretrained(folder)
    CLIPImageProcessorPil(size={"shortest_edge": 32}, crop_size={"height": 32, "width": 32}).save_pretrained(folder)
    words.save_pretrained(folder)
    return folder


def diffusion(folder: Path) -> Path:
    """A Stable Diffusion pipeline: text encoder, U-Net, decoder and scheduler, all tiny."""
    from diffusers import AutoencoderKL, DDIMScheduler, StableDiffusionPipeline, UNet2DConditionModel

    words = tokenizer()
    words.model_max_length = 32
    torch.manual_seed(5)
    text = CLIPTextModel(
        CLIPTextConfig(
            vocab_size=len(words),
            hidden_size=32,
            intermediate_size=37,
            num_hidden_layers=2,
            num_attention_heads=4,
            max_position_embeddings=32,
            eos_token_id=words.eos_token_id,
            bos_token_id=None,
            pad_token_id=words.pad_token_id,
        )
    )
    unet = UNet2DConditionModel(
        block_out_channels=(32, 64),
        layers_per_block=1,
        sample_size=16,
        in_channels=4,
        out_channels=4,
        down_block_types=("DownBlock2D", "CrossAttnDownBlock2D"),
        up_block_types=("CrossAttnUpBlock2D", "UpBlock2D"),
        cross_attention_dim=32,
    )
    decoder = AutoencoderKL(
        block_out_channels=[32, 64],
        in_channels=3,
        out_channels=3,
        down_block_types=["DownEncoderBlock2D", "DownEncoderBlock2D"],
        up_block_types=["UpDecoderBlock2D", "UpDecoderBlock2D"],
        latent_channels=4,
    )
    StableDiffusionPipeline(
        vae=decoder,
        text_encoder=text,
        tokenizer=words,
        unet=unet,
        scheduler=DDIMScheduler(steps_offset=1, clip_sample=False),
        safety_checker=None,
        feature_extractor=None,
        requires_safety_checker=False,
    ).save_pretrained(folder)
    return folder


def emu3(folder: Path) -> Path:
    """An Emu3, whose codes are 8 x 8 pixels."""
    from family_rest import emu3 as made

    model, processor, *_ = made()
    model.save_pretrained(folder)
    processor.save_pretrained(folder)
    return folder
