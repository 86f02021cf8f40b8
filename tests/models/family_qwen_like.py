"""Families whose pictures keep their shape: patches in a grid, positions along three axes."""

from __future__ import annotations

from typing import Any

import transformers as hf
from family_parts import Family, Made, resizer, template, text, with_video, words

SIZE = {"shortest_edge": 16 * 16, "longest_edge": 64 * 64}
ROPE = {"rope_type": "default", "mrope_section": [2, 3, 3], "rope_theta": 10000.0}
QWEN = ("<|vision_start|>", "<|vision_end|>", "<|image_pad|>", "<|video_pad|>")
QWEN_TEMPLATE = template("<|image_pad|>", "<|vision_start|>", "<|vision_end|>")
GLM = ("<|begin_of_image|>", "<|end_of_image|>", "<|image|>", "<|video|>")
GLM += ("<|begin_of_video|>", "<|end_of_video|>")
GLM_TEMPLATE = template("<|image|>", "<|begin_of_image|>", "<|end_of_image|>")


def tower(**more: Any) -> dict[str, Any]:
    return {
        "depth": 2,
        "hidden_size": 32,
        "num_heads": 2,
        "patch_size": 8,
        "spatial_merge_size": 2,
        "initializer_range": 0.4,
        **more,
    }


def signs(tokenizer: Any) -> dict[str, int]:
    start, end, image, video = tokenizer.convert_tokens_to_ids(list(QWEN))
    return {
        "image_token_id": image,
        "video_token_id": video,
        "vision_start_token_id": start,
        "vision_end_token_id": end,
    }


def qwen_text(tokenizer: Any, **more: Any) -> dict[str, Any]:
    settings = text(tokenizer, "", rope_parameters=ROPE, **more)
    del settings["model_type"]
    return settings


def pictures_of_qwen(**more: Any) -> Any:
    return resizer("qwen2_vl", "Qwen2VLImageProcessor", patch_size=8, size=SIZE, **more)


def qwen2() -> Made:
    tokenizer = words(*QWEN)
    config = hf.Qwen2VLConfig(
        text_config=qwen_text(tokenizer), vision_config=tower(embed_dim=32, mlp_ratio=2), **signs(tokenizer)
    )
    video = "Qwen2VLVideoProcessor"
    processor = with_video(hf.Qwen2VLProcessor, video, pictures_of_qwen(), tokenizer, chat_template=QWEN_TEMPLATE)
    return Made(hf.Qwen2VLForConditionalGeneration(config), processor, video)


def qwen2_5() -> Made:
    tokenizer = words(*QWEN)
    config = hf.Qwen2_5_VLConfig(
        text_config=qwen_text(tokenizer),
        vision_config=tower(intermediate_size=48, out_hidden_size=32, fullatt_block_indexes=[1], window_size=32),
        **signs(tokenizer),
    )
    video = "Qwen2VLVideoProcessor"
    processor = with_video(hf.Qwen2_5_VLProcessor, video, pictures_of_qwen(), tokenizer, chat_template=QWEN_TEMPLATE)
    return Made(hf.Qwen2_5_VLForConditionalGeneration(config), processor, video)


def tower_of_qwen3() -> dict[str, Any]:
    return tower(intermediate_size=48, out_hidden_size=32, num_position_embeddings=64, deepstack_visual_indexes=[0])


def qwen3(kind: str = "Qwen3VL", **more: Any) -> Made:
    tokenizer = words(*QWEN)
    config = getattr(hf, f"{kind}Config")(
        text_config=qwen_text(tokenizer, **more), vision_config=tower_of_qwen3(), **signs(tokenizer)
    )
    video = "Qwen3VLVideoProcessor"
    processor = with_video(hf.Qwen3VLProcessor, video, pictures_of_qwen(), tokenizer, chat_template=QWEN_TEMPLATE)
    model = getattr(hf, f"{kind}ForConditionalGeneration")(config)
    return Made(model, processor, video)


MOE = {"num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 32, "decoder_sparse_step": 1}


def qwen3_moe() -> Made:
    return qwen3("Qwen3VLMoe", **MOE)


def qwen3_5() -> Made:
    return qwen3(
        "Qwen3_5",
        layer_types=["linear_attention", "full_attention"],
        linear_key_head_dim=8,
        linear_value_head_dim=8,
        linear_num_key_heads=2,
        linear_num_value_heads=2,
        partial_rotary_factor=1.0,
    )


def glm4v(kind: str = "Glm4v", number: str = "glm4v", asked: str = "", **more: Any) -> Made:
    """`asked` is the family whose processor it uses, unless it has one of its own."""
    asked = asked or kind
    tokenizer = words(*GLM)
    start, end, image, video, first, last = tokenizer.convert_tokens_to_ids(list(GLM))
    config = getattr(hf, f"{kind}Config")(
        text_config=qwen_text(tokenizer, **more),
        vision_config=tower(intermediate_size=48, out_hidden_size=32, image_size=64),
        image_token_id=image,
        video_token_id=video,
        image_start_token_id=start,
        image_end_token_id=end,
        video_start_token_id=first,
        video_end_token_id=last,
    )
    kept = {"shortest_edge": 2 * 16 * 16, "longest_edge": 2 * 64 * 64}
    pictures = resizer(number, f"{asked}ImageProcessor", patch_size=8, size=kept)
    name = f"{asked}VideoProcessor"
    processor = with_video(getattr(hf, f"{asked}Processor"), name, pictures, tokenizer, chat_template=GLM_TEMPLATE)
    return Made(getattr(hf, f"{kind}ForConditionalGeneration")(config), processor, name)


def glm46v() -> Made:
    return glm4v("Glm46V", "glm46v")


FAMILIES = (
    Family("Qwen2-VL", qwen2),
    Family("Qwen2.5-VL", qwen2_5),
    Family("Qwen3-VL", qwen3),
    Family("Qwen3-VL MoE", qwen3_moe),
    Family("Qwen3.5", qwen3_5),
    Family("GLM-4V", glm4v),
    Family("GLM-4.6V", glm46v),
)
