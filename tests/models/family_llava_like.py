"""Families with a vision tower, a projector and a language model: one token per patch or tile."""

from __future__ import annotations

import transformers as hf
from family_parts import Family, Made, resizer, square, template, text, vision, with_video, words

VIDEO = "LlavaOnevisionVideoProcessor"
CLIP = {"size": {"shortest_edge": 32}, "crop_size": square()}


def llava() -> Made:
    tokenizer = words("<image>")
    config = hf.LlavaConfig(
        vision_config=vision("clip_vision_model"),
        text_config=text(tokenizer),
        image_token_id=tokenizer.convert_tokens_to_ids("<image>"),
        image_seq_length=16,
    )
    processor = hf.LlavaProcessor(
        resizer("clip", "CLIPImageProcessor", **CLIP),
        tokenizer,
        patch_size=8,
        vision_feature_select_strategy="default",
        num_additional_image_tokens=1,
        chat_template=template(),
    )
    return Made(hf.LlavaForConditionalGeneration(config), processor)


def vipllava() -> Made:
    made = llava()
    given = made.model.config
    config = hf.VipLlavaConfig(
        vision_config=given.vision_config,
        text_config=given.text_config,
        image_token_id=given.image_token_id,
        vision_feature_layers=[-2, -1],
        image_seq_length=16,
    )
    return Made(hf.VipLlavaForConditionalGeneration(config), made.processor)


def llava_next() -> Made:
    tokenizer = words("<image>")
    grid = [[32, 64], [64, 32], [64, 64]]
    config = hf.LlavaNextConfig(
        vision_config=vision("clip_vision_model"),
        text_config=text(tokenizer),
        image_token_id=tokenizer.convert_tokens_to_ids("<image>"),
        image_grid_pinpoints=grid,
        image_seq_length=16,
    )
    processor = hf.LlavaNextProcessor(
        resizer("llava_next", "LlavaNextImageProcessor", **CLIP, image_grid_pinpoints=grid),
        tokenizer,
        patch_size=8,
        vision_feature_select_strategy="default",
        num_additional_image_tokens=1,
        chat_template=template(),
    )
    return Made(hf.LlavaNextForConditionalGeneration(config), processor)


def llava_onevision() -> Made:
    tokenizer = words("<image>", "<video>")
    grid = [[32, 64], [64, 32], [64, 64]]
    config = hf.LlavaOnevisionConfig(
        vision_config=vision("siglip_vision_model", vision_use_head=False),
        text_config=text(tokenizer, "qwen2"),
        image_token_id=tokenizer.convert_tokens_to_ids("<image>"),
        video_token_id=tokenizer.convert_tokens_to_ids("<video>"),
        image_grid_pinpoints=grid,
    )
    pictures = resizer("llava_onevision", "LlavaOnevisionImageProcessor", size=square(), image_grid_pinpoints=grid)
    processor = with_video(
        hf.LlavaOnevisionProcessor,
        VIDEO,
        pictures,
        tokenizer,
        num_image_tokens=16,
        vision_feature_select_strategy="full",
        chat_template=template(),
    )
    return Made(hf.LlavaOnevisionForConditionalGeneration(config), processor, VIDEO)


FAMILIES = (
    Family("LLaVA-1.5", llava),
    Family("ViP-LLaVA", vipllava),
    Family("LLaVA-NeXT", llava_next),
    Family("LLaVA-OneVision", llava_onevision),
)
