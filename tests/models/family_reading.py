"""Families that read pages, and those that hear as well as see."""

from __future__ import annotations

from typing import Any

import transformers as hf
from family_grids import LINEAR, SPARSE
from family_parts import Family, Made, resizer, square, template, text, vision, with_video, words
from family_plain import shaken
from family_qwen_like import MOE, ROPE, pictures_of_qwen, qwen_text, tower, tower_of_qwen3

SAM = {
    "hidden_size": 32,
    "output_channels": 16,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "initializer_range": 0.3,
    "window_size": 4,
    "global_attn_indexes": [1],
    "mlp_dim": 48,
    "downsample_channels": [16, 32],
}


def deepseek_ocr2() -> Made:
    tokenizer = words("<image>")
    encoder = text(tokenizer, "deepseek_ocr2_encoder")
    config = hf.DeepseekOcr2Config(
        vision_config={
            # As many patches as are wanted; none is compared with all others.
            "sam_config": SAM | {"image_size": 128, "patch_size": 2, "global_attn_indexes": []},
            "encoder_config": encoder,
        },
        text_config=text(
            tokenizer,
            "deepseek_ocr2_text",
            **SPARSE,
            n_shared_experts=1,
            num_key_value_heads=2,
            mlp_layer_types=["dense", "sparse"],
        ),
        image_token_id=tokenizer.convert_tokens_to_ids("<image>"),
    )
    pictures = resizer("deepseek_ocr2", "DeepseekOcr2ImageProcessor", size=square(128), tile_size=96, max_patches=2)
    processor = hf.DeepseekOcr2Processor(pictures, tokenizer, patch_size=2, chat_template=template())
    return Made(shaken(hf.DeepseekOcr2ForConditionalGeneration(config)), processor)


def unlimited_ocr() -> Made:
    tokenizer = words("<image>")
    config = hf.UnlimitedOcrConfig(
        vision_config={
            "sam_config": SAM | {"image_size": 128, "patch_size": 4},
            "encoder_config": vision("", image_size=128, patch_size=16),
        },
        text_config=text(
            tokenizer, "unlimited_ocr_text", **SPARSE, n_shared_experts=1, num_key_value_heads=2, sliding_window=64
        ),
        image_token_id=tokenizer.convert_tokens_to_ids("<image>"),
    )
    pictures = resizer("unlimited_ocr", "UnlimitedOcrImageProcessor", size=square(128), tile_size=64, max_patches=4)
    processor = hf.UnlimitedOcrProcessor(pictures, tokenizer, patch_size=4, chat_template=template())
    return Made(shaken(hf.UnlimitedOcrForConditionalGeneration(config)), processor)


MINICPM = {
    "image_token": "<image_pad>",
    "video_token": "<video_pad>",
    "image_start_token": "<image>",
    "image_end_token": "</image>",
    "slice_start_token": "<slice>",
    "slice_end_token": "</slice>",
    "image_id_start_token": "<image_id>",
    "image_id_end_token": "</image_id>",
}


def minicpm(kind: str, number: str, mode: str, **more: Any) -> Made:
    tokenizer = words(**MINICPM)
    config = getattr(hf, f"{kind}Config")(
        text_config=text(tokenizer, "qwen3_5_text", rope_parameters=ROPE, **LINEAR),
        vision_config=vision(f"{number}_vision", insert_layer_id=0, image_size=64),
        insert_layer_id=0,
        image_token_id=tokenizer.convert_tokens_to_ids("<image_pad>"),
        video_token_id=tokenizer.convert_tokens_to_ids("<video_pad>"),
        tie_word_embeddings=False,
        downsample_mode=mode,
        **more,
    )
    asked, where = (kind, number) if number == "minicpm_ocr" else ("MiniCPMV4_6", "minicpmv4_6")
    pictures = resizer(where, f"{asked}ImageProcessor", patch_size=8, scale_resolution=64, downsample_mode=mode)
    video = f"{asked}VideoProcessor"
    processor = with_video(
        getattr(hf, f"{kind}Processor"), video, pictures, tokenizer, chat_template=template("<image_pad>")
    )
    made = getattr(hf, f"{kind}ForConditionalGeneration")(config)
    return Made(shaken(made), processor, video)


def minicpm_ocr() -> Made:
    return minicpm("MiniCPMOcr", "minicpm_ocr", "4x")


def minicpmv4_7() -> Made:
    return minicpm("MiniCPMV4_7", "minicpmv4_7", "16x", image_size=64)


HEARING = {
    "image_token": "<|IMAGE|>",
    "audio_token": "<|AUDIO|>",
    "video_token": "<|VIDEO|>",
    "vision_bos_token": "<|vision_bos|>",
    "vision_eos_token": "<|vision_eos|>",
    "audio_bos_token": "<|audio_bos|>",
    "audio_eos_token": "<|audio_eos|>",
}
EAR = {"d_model": 32, "encoder_layers": 1, "encoder_attention_heads": 2, "encoder_ffn_dim": 32, "output_dim": 32}


def omni() -> Made:
    tokenizer = words(**HEARING)
    image, audio, video, bos, _, start, end = tokenizer.convert_tokens_to_ids([*HEARING.values()])
    config = hf.Qwen2_5OmniThinkerConfig(
        text_config=qwen_text(tokenizer),
        vision_config=tower(intermediate_size=48, out_hidden_size=32, fullatt_block_indexes=[1], window_size=32),
        audio_config=EAR,
        image_token_index=image,
        audio_token_index=audio,
        video_token_index=video,
        audio_start_token_id=start,
        audio_end_token_id=end,
        vision_start_token_id=bos,
    )
    return heard("Qwen2_5Omni", hf.Qwen2_5OmniThinkerForConditionalGeneration(config), tokenizer)


def omni3() -> Made:
    tokenizer = words(**HEARING)
    image, audio, video, bos, _, start, _ = tokenizer.convert_tokens_to_ids([*HEARING.values()])
    config = hf.Qwen3OmniMoeThinkerConfig(
        text_config=qwen_text(tokenizer, **MOE),
        vision_config=tower_of_qwen3(),
        audio_config=EAR | {"downsample_hidden_size": 8},
        image_token_id=image,
        audio_token_id=audio,
        video_token_id=video,
        audio_start_token_id=start,
        vision_start_token_id=bos,
    )
    made = hf.Qwen3OmniMoeThinkerForConditionalGeneration(config)
    return heard("Qwen3OmniMoe", made, tokenizer)


def heard(kind: str, model: Any, tokenizer: Any) -> Made:
    film = "Qwen2VLVideoProcessor"
    processor = with_video(
        getattr(hf, f"{kind}Processor"),
        film,
        pictures_of_qwen(),
        tokenizer,
        feature_extractor=hf.WhisperFeatureExtractor(feature_size=128),
        chat_template=template("<|IMAGE|>", "<|vision_bos|>", "<|vision_eos|>"),
    )
    return Made(model, processor, film)


def inkling() -> Made:
    named = {"image_token": "<|unused_200054|>", "audio_token": "<|unused_200053|>"}
    tokenizer = words("<|content_image|>", "<|content_audio_input|>", **named)
    image, audio = tokenizer.convert_tokens_to_ids([*named.values()])
    bos, abos = tokenizer.convert_tokens_to_ids(["<|content_image|>", "<|content_audio_input|>"])
    config = hf.InklingConfig(
        text_config=text(
            tokenizer,
            "inkling_text",
            n_routed_experts=4,
            num_experts_per_tok=2,
            n_shared_experts=1,
            moe_intermediate_size=32,
            swa_num_attention_heads=2,
            swa_num_key_value_heads=1,
            swa_head_dim=16,
            sliding_window_size=512,
            d_rel=4,
            rel_extent=64,
            logits_mup_width_multiplier=1.0,
        ),
        vision_config={
            "hidden_size": 32,
            "num_hidden_layers": 4,
            "num_attention_heads": 2,
            "patch_size": 8,
            "text_hidden_size": 32,
            "initializer_range": 0.3,
        },
        audio_config={"text_hidden_size": 32, "n_mel_bins": 8, "mel_vocab_size": 8},
        image_token_id=image,
        audio_token_id=audio,
        image_bos_token_id=bos,
        audio_bos_token_id=abos,
    )
    pictures = resizer("inkling", "InklingImageProcessor", size=square(8))
    processor = hf.InklingProcessor(
        hf.InklingFeatureExtractor(),
        pictures,
        tokenizer,
        chat_template=template("<|unused_200054|>", "<|content_image|>"),
    )
    return Made(shaken(hf.InklingForConditionalGeneration(config)), processor)


def inkling2() -> Made:
    tokenizer = words(image_token="<|unused_200054|>")
    config = hf.Inkling2Config(
        text_config=text(
            tokenizer,
            "inkling2_text",
            n_routed_experts=4,
            num_experts_per_tok=2,
            moe_intermediate_size=32,
            swa_num_attention_heads=2,
            swa_num_key_value_heads=1,
            swa_head_dim=16,
            sliding_window_size=512,
            d_rel=4,
            rel_extent=64,
            unpadded_vocab_size=len(tokenizer),
        ),
        vision_config={
            "hidden_size": 32,
            "num_hidden_layers": 2,
            "num_attention_heads": 2,
            "patch_size": 8,
            "mlp_ratio": 2.0,
            "posemb_grid_size": 8,
            "projection_hidden_dim": 32,
            "text_hidden_size": 32,
            "initializer_range": 0.3,
        },
        image_token_id=tokenizer.convert_tokens_to_ids("<|unused_200054|>"),
    )
    pictures = resizer("inkling2", "Inkling2ImageProcessor", size=square(16))
    processor = hf.Inkling2Processor(pictures, tokenizer, chat_template=template("<|unused_200054|>"))
    return Made(shaken(hf.Inkling2ForConditionalGeneration(config)), processor)


def nemotron() -> Made:
    marks = ("<image>", "<video>", "<so_embedding>", "<so_start>", "<so_end>", "<img>", "</img>")
    tokenizer = words(*marks)
    image, video, audio, *_ = tokenizer.convert_tokens_to_ids(list(marks))
    config = hf.NemotronH_Omni_Reasoning_V3_Config(
        vision_config={
            "model_type": "radio",
            "hidden_size": 32,
            "num_hidden_layers": 2,
            "num_attention_heads": 2,
            "intermediate_size": 48,
            "patch_size": 8,
            "image_size": 64,
            "video_temporal_patch_size": 2,
            "initializer_range": 0.3,
        },
        text_config=text(tokenizer, "nemotron_h", layers_block_type=["attention", "mlp"]),
        audio_config=None,
        projector_hidden_size=32,
        vision_hidden_size=32,
        image_token_id=image,
        video_token_id=video,
        audio_token_id=audio,
    )
    pictures = resizer(
        "nemotron_h_omni",
        "NemotronH_Omni_Reasoning_V3ImageProcessor",
        patch_size=8,
        min_num_patches=4,
        max_num_patches=64,
    )
    film = "NemotronH_Omni_Reasoning_V3VideoProcessor"
    processor = with_video(
        hf.NemotronH_Omni_Reasoning_V3Processor,
        film,
        pictures,
        tokenizer,
        feature_extractor=hf.ParakeetFeatureExtractor(),
        chat_template=template("<image>"),
    )
    return Made(hf.NemotronH_Omni_Reasoning_V3(config), processor, film)


FAMILIES = (
    Family("DeepSeek-OCR 2", deepseek_ocr2, needs="DeepseekOcr2Config", since=(5, 23)),
    Family("Unlimited-OCR", unlimited_ocr, torchvision=True, needs="UnlimitedOcrConfig"),
    Family("MiniCPM-OCR", minicpm_ocr, torchvision=True, needs="MiniCPMOcrConfig"),
    Family("MiniCPM-V 4.7", minicpmv4_7, torchvision=True, needs="MiniCPMV4_7Config"),
    Family("Qwen2.5-Omni (thinker)", omni, since=(5, 23)),
    Family("Qwen3-Omni (thinker)", omni3, since=(5, 23)),
    Family("Inkling", inkling, torchvision=True, needs="InklingConfig"),
    Family("Inkling 2", inkling2, torchvision=True, needs="Inkling2Config"),
    Family("Nemotron Omni", nemotron, torchvision=True, needs="NemotronH_Omni_Reasoning_V3"),
)
