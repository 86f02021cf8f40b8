"""More families whose pictures keep their shape, with experts or a state in place of keys."""

from __future__ import annotations

import transformers as hf
from family_parts import Family, Made, resizer, template, text, with_video, words
from family_qwen_like import (
    GLM,
    GLM_TEMPLATE,
    MOE,
    QWEN,
    QWEN_TEMPLATE,
    SIZE,
    glm4v,
    pictures_of_qwen,
    qwen3,
    qwen_text,
    signs,
    tower,
)

LINEAR = {
    "layer_types": ["linear_attention", "full_attention"],
    "linear_key_head_dim": 8,
    "linear_value_head_dim": 8,
    "linear_num_key_heads": 2,
    "linear_num_value_heads": 2,
    "partial_rotary_factor": 1.0,
}
SPARSE = {"n_routed_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 32}


def qwen3_5_moe() -> Made:
    return qwen3("Qwen3_5Moe", **LINEAR, **MOE, shared_expert_intermediate_size=32)


def qwen4() -> Made:
    return qwen3(
        "Qwen4Exp",
        **LINEAR | {"layer_types": ["linear_attention", "indexed_attention"]},
        **MOE,
        shared_expert_intermediate_size=32,
        hc_count=2,
        hc_lowrank=4,
        ngram_vocab_size_base=64,
        indexer_n_heads=2,
        indexer_kv_heads=1,
        indexer_head_dim=16,
        indexer_budget=256,
        indexer_compress_ratio=2,
    )


def glm4v_moe() -> Made:
    return glm4v("Glm4vMoe", "glm4v", "Glm4v", **SPARSE)


def glm_ocr() -> Made:
    return glm4v("GlmOcr", "glm46v", "Glm46V")


def glmga() -> Made:
    tokenizer = words(*GLM)
    start, end, image, video, first, last = tokenizer.convert_tokens_to_ids(list(GLM))
    config = hf.GlmgaConfig(
        text_config=qwen_text(tokenizer),
        vision_config=tower(intermediate_size=48, out_hidden_size=32, image_size=64),
        image_token_id=image,
        video_token_id=video,
        image_start_token_id=start,
        image_end_token_id=end,
        video_start_token_id=first,
        video_end_token_id=last,
    )
    kept = {"shortest_edge": 2 * 16 * 16, "longest_edge": 2 * 64 * 64}
    pictures = resizer("glmga", "GlmgaImageProcessor", patch_size=8, size=kept)
    processor = with_video(hf.Glm46VProcessor, "GlmgaVideoProcessor", pictures, tokenizer, chat_template=GLM_TEMPLATE)
    return Made(hf.Glm46VForConditionalGeneration(config), processor, "GlmgaVideoProcessor")


def glm5() -> Made:
    tokenizer = words(*GLM)
    start, end, image, video, first, last = tokenizer.convert_tokens_to_ids(list(GLM))
    config = hf.Glm5NextConfig(
        text_config=qwen_text(
            tokenizer,
            **SPARSE,
            kv_lora_rank=16,
            q_lora_rank=16,
            qk_nope_head_dim=16,
            v_head_dim=16,
            num_key_value_heads=2,
            index_topk=256,
            index_head_dim=16,
            index_n_heads=2,
            linear_head_dim=16,
            linear_num_heads=2,
            n_shared_experts=1,
            layer_types=["linear_attention", "full_attention"],
            index_kpool=2,
            mlp_layer_types=["dense", "sparse"],
        ),
        vision_config=tower(intermediate_size=48, out_hidden_size=32, image_size=64, projection_intermediate_size=48),
        image_token_id=image,
        video_token_id=video,
        image_start_token_id=start,
        image_end_token_id=end,
        video_start_token_id=first,
        video_end_token_id=last,
    )
    pictures = resizer("glm5_next", "Glm5NextImageProcessor", patch_size=8, min_image_tokens=1, max_image_tokens=16)
    film = "Glm5NextVideoProcessor"
    processor = with_video(hf.Glm5NextProcessor, film, pictures, tokenizer, chat_template=GLM_TEMPLATE)
    return Made(hf.Glm5NextForConditionalGeneration(config), processor, film)


def exaone() -> Made:
    tokenizer = words(*QWEN)
    given = signs(tokenizer)
    config = hf.Exaone4_5_Config(
        text_config=text(
            tokenizer,
            "exaone4",
            sliding_window=512,
            initializer_range=0.8,
            layer_types=["sliding_attention", "full_attention"],
        ),
        vision_config=tower(
            intermediate_size=48, out_hidden_size=32, fullatt_block_indexes=[1], window_size=32, num_key_value_heads=1
        ),
        image_token_id=given["image_token_id"],
        video_token_id=given["video_token_id"],
    )
    video = "Qwen2VLVideoProcessor"
    processor = with_video(hf.Exaone4_5_Processor, video, pictures_of_qwen(), tokenizer, chat_template=QWEN_TEMPLATE)
    return Made(hf.Exaone4_5_ForConditionalGeneration(config), processor, video)


def paddleocr() -> Made:
    named = {"image_token": "<|IMAGE_PLACEHOLDER|>"}
    tokenizer = words(*QWEN, **named)
    config = hf.PaddleOCRVLConfig(
        text_config=qwen_text(tokenizer),
        vision_config={
            "hidden_size": 32,
            "intermediate_size": 48,
            "num_hidden_layers": 2,
            "num_attention_heads": 2,
            "image_size": 32,
            "patch_size": 8,
            "initializer_range": 0.3,
        },
        **signs(tokenizer) | {"image_token_id": tokenizer.convert_tokens_to_ids(named["image_token"])},
        tie_word_embeddings=False,
    )
    pictures = resizer("paddleocr_vl", "PaddleOCRVLImageProcessor", patch_size=8, size=SIZE)
    processor = hf.PaddleOCRVLProcessor(
        pictures, tokenizer, chat_template=template(named["image_token"], "<|vision_start|>", "<|vision_end|>")
    )
    return Made(hf.PaddleOCRVLForConditionalGeneration(config), processor)


def kimi() -> Made:
    named = {"image_token": "<|media_pad|>", "video_token": "<|kimi_k25_video_placeholder|>"}
    tokenizer = words("<|media_begin|>", "<|media_content|>", "<|media_end|>", **named)
    image, video = tokenizer.convert_tokens_to_ids(list(named.values()))
    start, end = tokenizer.convert_tokens_to_ids(["<|media_begin|>", "<|media_end|>"])
    config = hf.Kimi_K25Config(
        text_config=text(
            tokenizer,
            "deepseek_v3",
            **SPARSE,
            kv_lora_rank=16,
            q_lora_rank=16,
            qk_rope_head_dim=8,
            qk_nope_head_dim=8,
            v_head_dim=16,
            n_group=1,
            topk_group=1,
            first_k_dense_replace=1,
            n_shared_experts=1,
            num_key_value_heads=2,
            head_dim=8,
        ),
        vision_config={
            "hidden_size": 32,
            "intermediate_size": 48,
            "num_hidden_layers": 2,
            "num_attention_heads": 2,
            "patch_size": 8,
            "pos_emb_height": 8,
            "pos_emb_width": 8,
        },
        projection_hidden_size=32,
        image_token_id=image,
        video_token_id=video,
        vision_start_token_id=start,
        vision_end_token_id=end,
        tie_word_embeddings=False,
    )
    pictures = resizer("kimi_k25", "Kimi_K25ImageProcessor", patch_size=8)
    film = "Kimi_K25VideoProcessor"
    processor = with_video(
        hf.Kimi_K25Processor,
        film,
        pictures,
        tokenizer,
        chat_template=template("<|media_pad|>", "<|media_begin|>image<|media_content|>", "<|media_end|>"),
    )
    return Made(hf.Kimi_K25ForConditionalGeneration(config), processor, film)


FAMILIES = (
    Family("Qwen3.5 MoE", qwen3_5_moe, needs="Qwen3_5MoeConfig"),
    Family("Qwen4 (experimental)", qwen4, needs="Qwen4ExpConfig", since=(5, 23)),
    Family("GLM-4.5V", glm4v_moe),
    Family("GLM-OCR", glm_ocr, needs="GlmOcrConfig"),
    Family("GLM-GA", glmga, needs="GlmgaConfig"),
    Family("GLM-5 Next", glm5, needs="Glm5NextConfig"),
    Family("EXAONE 4.5", exaone, needs="Exaone4_5_Config"),
    Family("PaddleOCR-VL", paddleocr, needs="PaddleOCRVLConfig"),
    Family("Kimi-K2.5", kimi, torchvision=True, needs="Kimi_K25Config"),
)
