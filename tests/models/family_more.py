"""Families with several experts, cross-attention, or image processors of their own."""

from __future__ import annotations

from typing import Any

import transformers as hf
from family_parts import Family, Made, resizer, square, template, text, vision, words


def mllama() -> Made:
    tokenizer = words("<|image|>", "<|python_tag|>", bos="<|begin|>")
    image = tokenizer.convert_tokens_to_ids("<|image|>")
    settings = text(tokenizer, "mllama_text_model", num_hidden_layers=3, cross_attention_layers=[1]) | {
        "bos_token_id": tokenizer.bos_token_id
    }
    config = hf.MllamaConfig(
        vision_config={
            "hidden_size": 32,
            "intermediate_size": 48,
            "num_hidden_layers": 2,
            "num_global_layers": 1,
            "attention_heads": 2,
            "image_size": 32,
            "patch_size": 8,
            "max_num_tiles": 2,
            "vision_output_dim": 64,
            "intermediate_layers_indices": [0],
            "supported_aspect_ratios": [[1, 1], [1, 2], [2, 1]],
            "initializer_range": 0.3,
        },
        text_config=settings,
        image_token_index=image,
    )
    pictures = resizer("mllama", "MllamaImageProcessor", size=square(), max_image_tiles=2)
    processor = hf.MllamaProcessor(pictures, tokenizer, chat_template="<|begin|>" + template("<|image|>"))
    made = hf.MllamaForConditionalGeneration(config)
    open_gates(made)
    return Made(made, processor)


def open_gates(model: Any) -> None:
    """Gates start at 0, and pictures would change nothing."""
    import torch

    with torch.no_grad():
        for name, weights in model.named_parameters():
            if "gate" in name and weights.numel() == 1:
                weights.fill_(1.0)


def phi4() -> Made:
    tokenizer = words(image_token="<|image|>", audio_token="<|audio|>")
    image, audio = tokenizer.convert_tokens_to_ids(["<|image|>", "<|audio|>"])
    settings = text(tokenizer, "", max_position_embeddings=4096)
    for name in ("model_type", "head_dim"):
        del settings[name]
    config = hf.Phi4MultimodalConfig(
        **settings | {"bos_token_id": tokenizer.eos_token_id},
        vision_config={
            "hidden_size": 32,
            "intermediate_size": 48,
            "num_hidden_layers": 2,
            "num_attention_heads": 2,
            "image_size": 448,
            "crop_size": 448,
            "patch_size": 14,
            "image_token_id": image,
        },
        audio_config={
            "hidden_size": 32,
            "intermediate_size": 48,
            "num_blocks": 1,
            "num_attention_heads": 2,
            "input_size": 16,
            "nemo_conv_channels": 16,
            "ext_pw_out_channel": 32,
            "depthwise_separable_out_channel": 32,
            "audio_token_id": audio,
        },
    )
    processor = hf.Phi4MultimodalProcessor(
        resizer("phi4_multimodal", "Phi4MultimodalImageProcessor", dynamic_hd=1),
        hf.Phi4MultimodalFeatureExtractor(),
        tokenizer,
    )
    processor.chat_template = template("<|image|>")
    return Made(hf.Phi4MultimodalForCausalLM(config), processor)


def ovis2() -> Made:
    signs = ["<IMG_ATOM>", "<IMG_START>", "<IMG_GRID>", "<IMG_COL>", "<IMG_ROW>", "<IMG_END>"]
    tokenizer = words("<image>", *signs)
    atom, *rest = tokenizer.convert_tokens_to_ids(signs)
    config = hf.Ovis2Config(
        vision_config=vision("ovis2_vision", vocab_size=64, hidden_stride=2),
        text_config=text(tokenizer, "qwen2"),
        image_token_id=atom,
        visual_indicator_token_ids=rest,
        vocab_size=len(tokenizer),
        hidden_size=32,
        tie_word_embeddings=False,
    )
    pictures = resizer("ovis2", "Ovis2ImageProcessor", size=square(), max_patches=3)
    processor = hf.Ovis2Processor(pictures, tokenizer, image_seq_length=4, chat_template=template())
    return Made(hf.Ovis2ForConditionalGeneration(config), processor)


def aria() -> Made:
    tokenizer = words(image_token="<|img|>")
    settings = text(tokenizer, "aria_text", moe_num_experts=4, moe_topk=2, moe_num_shared_experts=1)
    config = hf.AriaConfig(
        vision_config=vision("idefics3_vision", image_size=490, patch_size=98),
        text_config=settings,
        image_token_index=tokenizer.convert_tokens_to_ids("<|img|>"),
        projector_patch_to_query_dict={25: 8, 100: 16},
    )
    processor = hf.AriaProcessor(
        resizer("aria", "AriaImageProcessor", max_image_size=490, min_image_size=98),
        tokenizer,
        chat_template=template("<|img|>"),
        size_conversion={490: 8, 980: 16},
    )
    return Made(hf.AriaForConditionalGeneration(config), processor)


def cohere2_vision() -> Made:
    named = {
        "image_token": "<|IMG_PATCH|>",
        "boi_token": "<|START_OF_IMG|>",
        "eoi_token": "<|END_OF_IMG|>",
        "img_line_break_token": "<|IMG_LINE_BREAK|>",
    }
    tokenizer = words(**named)
    config = hf.Cohere2VisionConfig(
        vision_config=vision("siglip_vision_model", vision_use_head=False),
        text_config=text(
            tokenizer,
            "cohere2",
            sliding_window=512,
            layer_types=["sliding_attention", "full_attention"],
            logit_scale=1.0,
        ),
        image_token_id=tokenizer.convert_tokens_to_ids("<|IMG_PATCH|>"),
        alignment_intermediate_size=64,
        tie_word_embeddings=False,
    )
    pictures = resizer("cohere2_vision", "Cohere2VisionImageProcessor", size=square(), patch_size=2, max_patches=3)
    processor = hf.Cohere2VisionProcessor(pictures, tokenizer, chat_template=template("<|IMG_PATCH|>"))
    return Made(hf.Cohere2VisionForConditionalGeneration(config), processor)


def aya_vision() -> Made:
    signs = ["<|IMG_PATCH|>", "<|START_OF_IMG|>", "<|END_OF_IMG|>", "<|IMG_LINE_BREAK|>"]
    tokenizer = words("<image>", "TILE", "TILE_GLOBAL", *signs)
    config = hf.AyaVisionConfig(
        vision_config=vision("siglip_vision_model", vision_use_head=False),
        text_config=text(
            tokenizer,
            "cohere2",
            sliding_window=512,
            layer_types=["sliding_attention", "full_attention"],
            logit_scale=1.0,
        ),
        image_token_index=tokenizer.convert_tokens_to_ids("<|IMG_PATCH|>"),
        tie_word_embeddings=False,
    )
    pictures = resizer("got_ocr2", "GotOcr2ImageProcessor", size=square(), crop_to_patches=True, max_patches=3)
    processor = hf.AyaVisionProcessor(pictures, tokenizer, patch_size=16, img_size=32, chat_template=template())
    return Made(hf.AyaVisionForConditionalGeneration(config), processor)


def lfm2() -> Made:
    tokenizer = words(
        image_token="<image>",
        image_start_token="<|image_start|>",
        image_end_token="<|image_end|>",
        image_thumbnail_token="<|img_thumbnail|>",
    )
    config = hf.Lfm2VlConfig(
        vision_config=vision("siglip2_vision_model", num_patches=16, vision_use_head=False),
        text_config=text(tokenizer, "lfm2", layer_types=["conv", "full_attention"]),
        image_token_id=tokenizer.convert_tokens_to_ids("<image>"),
        projector_hidden_size=32,
        tie_word_embeddings=False,
    )
    pictures = resizer(
        "lfm2_vl",
        "Lfm2VlImageProcessor",
        encoder_patch_size=8,
        tile_size=32,
        max_image_tokens=4,
        min_image_tokens=2,
        max_num_patches=16,
        min_tiles=2,
        max_tiles=4,
    )
    processor = hf.Lfm2VlProcessor(pictures, tokenizer, chat_template=template())
    return Made(hf.Lfm2VlForConditionalGeneration(config), processor)


def deepseek_vl() -> Made:
    tokenizer = words(image_token="<image_placeholder>")
    config = hf.DeepseekVLConfig(
        vision_config=vision("siglip_vision_model", vision_use_head=False),
        text_config=text(tokenizer),
        image_token_id=tokenizer.convert_tokens_to_ids("<image_placeholder>"),
        tie_word_embeddings=False,
    )
    pictures = resizer("deepseek_vl", "DeepseekVLImageProcessor", size=square(), min_size=8)
    processor = hf.DeepseekVLProcessor(
        pictures, tokenizer, chat_template=template("<image_placeholder>"), num_image_tokens=16
    )
    return Made(hf.DeepseekVLForConditionalGeneration(config), processor)


FAMILIES = (
    Family("Llama 3.2 Vision", mllama),
    Family("Phi-4 multimodal", phi4, pictures=2, torchvision=True),
    Family("Ovis2", ovis2),
    Family("Aria", aria),
    Family("Command A Vision", cohere2_vision, torchvision=True),
    Family("Aya Vision", aya_vision),
    Family("LFM2-VL", lfm2, torchvision=True),
    Family("DeepSeek-VL", deepseek_vl),
)
